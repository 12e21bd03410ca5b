"""A process that runs examples on some TensorFlow: this one, 1.15.5, or a replayed release."""

import atexit
import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
from typing import NamedTuple

import pytest

from checks import ROOT


class Result(NamedTuple):
    """What an example printed, and why that does not count, or nothing."""

    printed: str
    error: str


@contextlib.contextmanager
def tensorflow(python):
    """Start a process with the TensorFlow of `python`, and yield a function that runs examples.

    The function takes code, the file to name in tracebacks, whether to enable eager execution, and
    the name of a batch; it returns the Result. Examples of one batch that follow each other run in
    one process, until one of them fails or leaves it changed; others each in their own.

    Raises:
        RuntimeError: TensorFlow does not start, or the process has ended; what it said is in it.
    """
    # TensorFlow 2 leaves TF2_BEHAVIOR behind, which TensorFlow 1.15 would obey.
    env = {name: value for name, value in os.environ.items() if name != "TF2_BEHAVIOR"}
    env["PYTHONHASHSEED"] = "0"  # or a set that a message names comes in another order each time
    command, last = [python, ROOT / "checks/worker.py"], ""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": env}
    pipes["cwd"] = tempfile.gettempdir()  # there lands what an example writes
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stderr=log, **pipes) as run:

        def answer(*example):
            run.stdin.write(json.dumps(example) + "\n")
            run.stdin.flush()
            if line := run.stdout.readline():
                return Result(*json.loads(line))
            log.seek(0)
            raise RuntimeError(f"TensorFlow of {python} ended.\n{log.read()[-2000:]}")

        def ask(code, file, eager=False, batch=""):
            nonlocal last
            if last not in ("", batch):
                answer("", "", False, False)  # the process of that batch ends
            result = answer(code, file, eager, bool(batch))
            last = "failed" if result.error else batch
            return result

        yield ask
        run.stdin.close()


open_ones = contextlib.ExitStack()
atexit.register(open_ones.close)


@functools.cache
def here():
    """Return the function that runs examples on the TensorFlow of this Python."""
    return open_ones.enter_context(tensorflow(sys.executable))


@functools.cache
def one_fifteen():
    """Return the function that runs examples on TensorFlow 1.15.5, or skip the test."""
    if not (python := os.environ.get("TF1_PYTHON")):
        reason = (
            "No TensorFlow 1.15.5: it needs Python 3.7 on x86-64, from pyenv, the system or, where "
            "the network allows, uv. `python3 noxfile.py -s snippets` says above what failed."
        )
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return open_ones.enter_context(tensorflow(python))
