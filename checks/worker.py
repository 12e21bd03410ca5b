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
import traceback
import warnings

import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import ops

FATAL = "(?:Check failed|Fatal Python).*\n"  # of what C++ and faulthandler say
HANGS = 20  # seconds that an example of this name has, before it is ended


def settings():
    """Return what an example can change for those after it, by the name that readers know."""
    v1, log, graph = tf.compat.v1, tf.get_logger(), tf.compat.v1.get_default_graph()
    patched = [*vars(execute).values(), *vars(tf.GradientTape).values()]
    gradients = [name for name in ops.gradient_registry.list() if not name[-1].isdigit()]
    return {
        "eager execution": (tf.executing_eagerly(), tf.config.functions_run_eagerly()),
        "the behaviour of TensorFlow 2": (tf.Tensor._USE_EQUALITY, v1.control_flow_v2_enabled()),
        "the configuration": context.context().config.SerializeToString(),
        "TensorFlow itself": [id(one) for one in patched if callable(one)],
        "the seed": (graph.seed, context.global_seed()),
        # Not imported above: TensorFlow 1.13, which reads no settings, has no such module.
        "determinism": sys.modules["tensorflow.python.util._pywrap_determinism"].is_enabled(),
        "the default graph": (graph.version, graph.get_collection("global_step")),
        "the registered gradients": sorted(gradients),
        "the type of Keras": (tf.keras.config.floatx(), tf.keras.config.dtype_policy().name),
        "logging": (logging.root.level, log.level, *log.handlers, *log.filters),
        # Those of imported packages are for their own warnings.
        "warnings": [f for f in warnings.filters if f[2].__module__ == "builtins"],
        "the environment": dict(os.environ),
    }


def printed_since(file, start=0):
    """Return what was written to `file` from `start` on."""
    return os.pread(file.fileno(), file.tell() - start, start).decode()


def exit_status(code, file, eager, error):
    """Execute `code`, leave its traceback in the file `error`, and return its exit status."""
    signal.alarm(HANGS if "/hangs_" in file else 120)
    if "kills_process" in file:
        os.dup2(error.fileno(), 2)  # where TensorFlow's C++ says why
    status = 0
    with tempfile.NamedTemporaryFile("w", suffix=".py") as copy:
        copy.write("\n" + code)  # AutoGraph reads its source; its lines are those of the file
        copy.flush()
        try:
            if eager:
                tf.compat.v1.enable_eager_execution()
            exec(compile("\n" + code, copy.name, "exec"), {"__name__": "__main__"})  # noqa: S102
        except BaseException:
            error.write(traceback.format_exc().replace(copy.name, file).encode())
            status = 1
    sys.stdout.flush()
    signal.alarm(0)
    return status


def serve(line, answers, printed, error):
    """Run the example of `line`, and more while there are of its batch; then end the process."""
    os.dup2(printed.fileno(), 1)
    sys.stdout.reconfigure(line_buffering=True)  # in order with what TensorFlow's C++ prints
    *example, more = json.loads(line)
    before = more and settings()
    while True:
        starts = printed.tell(), error.tell()
        status = exit_status(*example, error)
        if not more:
            os._exit(status)
        after = settings()
        changed = [f"It leaves changed: {name}.\n" for name in after if after[name] != before[name]]
        said = printed_since(printed, starts[0]), printed_since(error, starts[1]) + "".join(changed)
        answers.write(json.dumps(said) + "\n")
        *example, more = json.loads(sys.stdin.readline())


def ending(status, file=""):
    """Write the status of a process as a shell does, with the signal that ended it."""
    number = os.WTERMSIG(status)
    if "/hangs_" in file and number == signal.SIGALRM:
        return f"no end after {HANGS} seconds\n"
    name = f": {signal.Signals(number).name}" if number else ""
    return f"exit status {128 + number if number else os.WEXITSTATUS(status)}{name}\n"


def main():
    """Answer each line of input with a line of output."""
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)  # what TensorFlow itself prints must not come between the answers
    for line in sys.stdin:
        files = [tempfile.TemporaryFile(buffering=0) for _ in range(2)]
        child = os.fork()
        if not child:
            serve(line, answers, *files)
        status = os.waitpid(child, 0)[1]
        said, error = (printed_since(file) for file in files)
        file = json.loads(line)[1]
        if "kills_process" in file or "/hangs_" in file:
            said += "".join(re.findall(FATAL, error)) + ending(status, file)
            if os.WIFSIGNALED(status) or not status:
                error = ""  # no traceback, but what TensorFlow's C++ said
        elif status:
            error = error or "The process ended: " + ending(status)
        answers.write(json.dumps([said, error]) + "\n")


if __name__ == "__main__":
    main()
