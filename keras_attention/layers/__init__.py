"""The attention layer and the small layers beside it; they need only Keras."""
