"""What is wrong or odd in a data file."""
