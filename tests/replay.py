"""Run examples on the TensorFlow of this Python, 3.7 to 3.13, with the standard library alone.

Each line of input is a JSON list of code, path and whether to enable eager execution; each line
of output is a JSON list of what the code printed and, if it failed, the traceback. TensorFlow is
imported once, and each example runs in a fork of that process: it meets TensorFlow as its reader
does, and one that ends its process, or takes two minutes, costs only itself.
"""

import json
import os
import signal
import sys
import tempfile
import traceback

import tensorflow as tf


def run(code, path, eager, printed, error):
    """Execute `code` and end the process; leave its output and its traceback in two files."""
    signal.alarm(120)
    os.dup2(printed.fileno(), 1)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as copy:
        copy.write(code)  # AutoGraph reads the source of what it compiles
        copy.flush()
        try:
            if eager:
                tf.compat.v1.enable_eager_execution()
            exec(compile(code, copy.name, "exec"), {"__name__": "__main__"})  # noqa: S102
        except BaseException:
            error.write(traceback.format_exc().replace(copy.name, path))
    sys.stdout.flush()
    error.flush()
    os._exit(0)


def main():
    """Answer the import of TensorFlow, and then each line of input, with a line of output."""
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)  # what TensorFlow itself prints must not come between the answers
    answers.write(json.dumps([tf.__version__, ""]) + "\n")
    for line in sys.stdin:
        printed, error = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        with printed, error:
            child = os.fork()
            if not child:
                run(*json.loads(line), printed, error)
            status = os.waitpid(child, 0)[1]
            printed.seek(0)
            error.seek(0)
            ended = (
                f"The process ended with status {status}." if status else error.read()
            )
            answers.write(json.dumps([printed.read(), ended]) + "\n")


if __name__ == "__main__":
    main()
