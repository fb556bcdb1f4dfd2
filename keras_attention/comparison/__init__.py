"""Fixed vector, peeky and attention side by side."""
