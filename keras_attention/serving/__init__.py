"""An exported SavedModel behind TensorFlow Serving's REST API, and the page that shows it live.

The rules and the wording are those of TensorFlow Serving's source (util/json_tensor.cc and
model_servers/ of tensorflow/serving), so that a client tested here works there unchanged.
"""
