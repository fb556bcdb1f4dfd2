"""What an evaluation says to people: two versions compared, slices and errors, model cards."""
