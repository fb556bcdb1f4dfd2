"""The ground floor: files that appear whole, command lines, threads, TensorFlow's start."""
