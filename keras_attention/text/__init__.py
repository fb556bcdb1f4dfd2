"""Text into token ids and back, outside of a graph and inside."""
