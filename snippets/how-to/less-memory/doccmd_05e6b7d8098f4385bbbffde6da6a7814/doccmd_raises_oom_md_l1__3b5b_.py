
import tensorflow as tf

try:
    tf.zeros([2**30, 2**28])  # more than any machine has
except tf.errors.ResourceExhaustedError as error:
    start = error.message.index("OOM")
    end = error.message.index(" on ")
    print(type(error).__name__)
    print("message:", error.message[start:end])
