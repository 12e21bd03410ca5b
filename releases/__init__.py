"""What each TensorFlow release does with the examples, and how that is found out."""
