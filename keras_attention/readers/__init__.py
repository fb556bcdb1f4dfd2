"""A run, an export or a `.tflite` file into translations."""
