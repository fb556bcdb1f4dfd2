"""Command-line options that are many enough for a module of their own."""
