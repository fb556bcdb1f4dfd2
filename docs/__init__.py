"""Pages of the project, and what makes them (`docs.making`)."""
