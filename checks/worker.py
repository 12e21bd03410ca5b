"""Run examples on the TensorFlow of this Python, 3.7 to 3.13, with the standard library alone.

Each line of input is a JSON list of code, file and whether to enable eager execution; each line
of output is a JSON list of what the code printed and, if it failed, the traceback. TensorFlow is
imported once, and each example runs in a fork of that process: it meets TensorFlow as its reader
does, and one that ends its process, or takes two minutes, costs only itself.
"""

import json
import os
import re
import signal
import sys
import tempfile
import traceback

import tensorflow as tf

FATAL = "(?:Check failed|Fatal Python).*\n"  # of what C++ and faulthandler say


def run(code, file, eager, printed, error):
    """Execute `code` and end the process; leave its output and its traceback in two files."""
    signal.alarm(120)
    os.dup2(printed.fileno(), 1)
    if kills(file):
        os.dup2(error.fileno(), 2)  # where TensorFlow's C++ says why
    sys.stdout.reconfigure(line_buffering=True)  # in order with what TensorFlow's C++ prints
    status = 0
    with tempfile.NamedTemporaryFile("w", suffix=".py") as copy:
        copy.write("\n" + code)  # AutoGraph reads its source; its lines are those of the file
        copy.flush()
        try:
            if eager:
                tf.compat.v1.enable_eager_execution()
            exec(compile("\n" + code, copy.name, "exec"), {"__name__": "__main__"})  # noqa: S102
        except BaseException:
            error.write(traceback.format_exc().replace(copy.name, file))
            status = 1
    sys.stdout.flush()
    error.flush()
    os._exit(status)


def kills(file):
    """Tell whether the example in `file` is to end its process."""
    return os.path.basename(file).startswith("kills_process")


def ending(status):
    """Write the status of a process as a shell does, with the signal that ended it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"exit status {128 + number}: {signal.Signals(number).name}\n"
    return f"exit status {os.WEXITSTATUS(status)}\n"


def main():
    """Answer the import of TensorFlow, and then each line of input, with a line of output."""
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)  # what TensorFlow itself prints must not come between the answers
    answers.write(json.dumps([tf.__version__, ""]) + "\n")
    for line in sys.stdin:
        code, file, eager = json.loads(line)
        with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as error:
            child = os.fork()
            if not child:
                run(code, file, eager, printed, error)
            status = os.waitpid(child, 0)[1]
            printed.seek(0)
            error.seek(0)
            said, failed = printed.read(), error.read()
            if kills(file):
                said += "".join(re.findall(FATAL, failed)) + ending(status)
                if os.WIFSIGNALED(status) or not status:
                    failed = ""  # no traceback, but what TensorFlow's C++ said
            elif os.WIFSIGNALED(status):
                failed = "The process ended: " + ending(status)
            answers.write(json.dumps([said, failed]) + "\n")


if __name__ == "__main__":
    main()
