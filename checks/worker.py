"""Run examples on the TensorFlow of this Python, 3.7 to 3.13, with the standard library alone.

Each line of input is a JSON list of code, file, whether to enable eager execution, and whether the
next line is for the same process; each line of output is a JSON list of what the code printed, and
why that does not count: the traceback, or what is left changed. TensorFlow is imported once, and
each example, or batch of them, runs in a fork of that process: it meets TensorFlow as its reader
does, and one that ends its process, or takes two minutes, costs only itself.
"""

import json
import logging
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
import warnings

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import ops

FATAL = "(?:Check failed|Fatal Python).*\n"  # of what C++ and faulthandler say


def settings():
    """Return what an example can change for those after it, by the name that readers know."""
    v1, loggers = tf.compat.v1, (logging.root, tf.get_logger())
    return {
        "eager execution": (tf.executing_eagerly(), tf.config.functions_run_eagerly()),
        "the behaviour of TensorFlow 2": (tf.Tensor._USE_EQUALITY, v1.control_flow_v2_enabled()),
        "the configuration": context.context().config.SerializeToString(),
        "the default graph": (v1.get_default_graph().version, v1.get_default_graph().seed),
        "the registered gradients": sorted(ops.gradient_registry.list()),
        "Keras": (tf.keras.config.floatx(), tf.keras.config.dtype_policy().name),
        "logging": [(log.level, *log.handlers, *log.filters) for log in loggers],
        "warnings": warnings.filters[:],
        "the environment": dict(os.environ),
        "threads": threading.active_count(),
    }


def taken(file):
    """Return what `file` holds, and empty it."""
    file.seek(0)
    text = file.read().decode()
    file.seek(0)
    file.truncate()
    return text


def run(code, file, eager, error):
    """Execute `code`, leave its traceback in the file `error`, and return its exit status."""
    signal.alarm(120)
    if kills(file):
        os.dup2(error.fileno(), 2)  # where TensorFlow's C++ says why
    with tempfile.NamedTemporaryFile("w", suffix=".py") as copy:
        copy.write("\n" + code)  # AutoGraph reads its source; its lines are those of the file
        copy.flush()
        try:
            if eager:
                tf.compat.v1.enable_eager_execution()
            exec(compile("\n" + code, copy.name, "exec"), {"__name__": "__main__"})  # noqa: S102
        except BaseException:
            error.write(traceback.format_exc().replace(copy.name, file).encode())
            return 1
        finally:
            sys.stdout.flush()
            signal.alarm(0)
    return 0


def serve(line, answer, printed, error):
    """Run the example of `line`, and those of the lines after it while more are to come, and end."""
    os.dup2(printed.fileno(), 1)
    sys.stdout.reconfigure(line_buffering=True)  # in order with what TensorFlow's C++ prints
    before = None
    while True:
        *example, more = json.loads(line)
        before = before or more and settings()
        status = run(*example, error)
        if not more:
            os._exit(status)
        after = settings()
        changed = ", ".join(name for name in after if after[name] != before[name])
        answer(taken(printed), taken(error) + (changed and f"It leaves changed: {changed}.\n"))
        line = sys.stdin.readline()


def kills(file):
    """Tell whether the example in `file` is to end its process."""
    return os.path.basename(file).startswith("kills_process")


def ended(status, file, printed, error):
    """Return what an example printed that ended its process, and why that does not count."""
    said = "exit status %d\n" % os.WEXITSTATUS(status)
    if os.WIFSIGNALED(status):  # written as a shell does
        number = os.WTERMSIG(status)
        said = "exit status %d: %s\n" % (128 + number, signal.Signals(number).name)
    if not kills(file):
        return printed, error or (status and "The process ended: " + said)
    # No traceback, but what TensorFlow's C++ said.
    wrong = error if status and not os.WIFSIGNALED(status) else ""
    return printed + "".join(re.findall(FATAL, error)) + said, wrong


def main():
    """Answer each line of input with a line of output."""
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)  # what TensorFlow itself prints must not come between the answers

    def answer(*what):
        answers.write(json.dumps(what) + "\n")

    for line in sys.stdin:
        files = [tempfile.TemporaryFile(buffering=0) for _ in range(2)]
        child = os.fork()
        if not child:
            serve(line, answer, *files)
        status = os.waitpid(child, 0)[1]
        answer(*ended(status, json.loads(line)[1], *map(taken, files)))


if __name__ == "__main__":
    main()
