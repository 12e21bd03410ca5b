"""Run a snippet as a reader would and compare what it prints with its output fence."""

import difflib
import functools
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from pytest_markdown_docs._runners import DefaultRunner, register_runner

ROOT = Path(__file__).parent.parent
SNIPPET = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n+^```output\n(?P<output>.*?)^```$)?",
    re.M | re.S,
)
TOKEN = re.compile(
    r"(?P<float>[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e[-+]?\d))(?:e[-+]?\d+)?)|\w+|[^\w\s]"
)


class WrongSnippetError(Exception):
    """A snippet that is misshapen or says something else than it prints."""


def pytest_addoption(parser):
    """Let `--update` write what a snippet prints into its output fence."""
    parser.addoption("--update", action="store_true", help="write the output fences")


def pytest_configure(config):
    """Tell the runner, which pytest-markdown-docs creates, about `--update`."""
    SnippetRunner.update = config.getoption("update")


def execute(code, path):
    """Return all that `code` prints, TensorFlow's own C++ output included."""
    if path.endswith(".tf1.md"):
        return execute_on_tf1(code, path)
    two_cpus()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        stdout = os.dup(1)
        sys.stdout.flush()
        sys.stdout.reconfigure(line_buffering=True)
        os.dup2(printed.fileno(), 1)
        try:
            exec(compile(code, path, "exec"), {"__name__": "__main__"})  # noqa: S102
        finally:
            sys.stdout.flush()
            os.dup2(stdout, 1)
            os.close(stdout)
            forget(code)
        printed.seek(0)
        return printed.read()


@functools.cache
def two_cpus():
    """Split the CPU as examples of device placement do, which only works before the first one."""
    import tensorflow as tf  # noqa: PLC0415 - the page tests run without TensorFlow

    [cpu] = tf.config.list_physical_devices("CPU")
    halves = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, halves)


@functools.cache
def tf1_worker():
    """Start the process that runs all examples for TensorFlow 1.15.5, or skip them."""
    if not (python := os.environ.get("TF1_PYTHON")):
        reason = (
            "No TensorFlow 1.15.5: it needs Python 3.7 on x86-64, from pyenv, the system or, where "
            "the network allows, uv. `python3 noxfile.py -s snippets` says above what failed."
        )
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    worker = subprocess.Popen(
        [python, ROOT / "tests/replay.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # TensorFlow 2 leaves TF2_BEHAVIOR behind, which TensorFlow 1.15 would obey.
        env={k: v for k, v in os.environ.items() if k != "TF2_BEHAVIOR"},
    )
    if not worker.stdout.readline():
        pytest.fail(f"TensorFlow 1.15.5 does not start: {python}")
    return worker


def execute_on_tf1(code, path):
    """Return what `code` prints on TensorFlow 1.15.5."""
    worker = tf1_worker()
    worker.stdin.write(json.dumps([code, path, False]) + "\n")
    worker.stdin.flush()
    printed, error = json.loads(worker.stdout.readline())
    if error:
        raise WrongSnippetError(f"{path} failed on TensorFlow 1.15.5.\n{error}")
    return printed


def forget(code):
    """Undo what `code` leaves behind in the process: Keras's names and the random seeds.

    Seeds are freed, not fixed: a result that needs one is only stable with its own.
    """
    if "keras" in code:
        sys.modules["keras"].backend.clear_session(free_memory=False)
    if "seed" in code:  # only then: freeing TensorFlow's seed empties its kernel cache
        random.seed()
        for module, free in (("numpy", "seed"), ("tensorflow", "set_seed")):
            if module in sys.modules:
                getattr(sys.modules[module].random, free)(None)


def source(path):
    """Return the code of the snippet at `path`, its lines numbered as in the file."""
    text = path.read_text("utf-8")
    fence = SNIPPET.search(text)
    return text.count("\n", 0, fence.start("code")) * "\n" + fence["code"]


def same(expected, printed):
    """Tell whether two outputs agree: text up to spacing, floats to just below 1e-5."""
    pairs = [list(TOKEN.finditer(text)) for text in (expected, printed)]
    return len(pairs[0]) == len(pairs[1]) and all(
        a[0] == b[0]
        or (
            a["float"]
            and b["float"]
            and math.isclose(float(a[0]), float(b[0]), rel_tol=9e-6)
        )
        for a, b in zip(*pairs, strict=True)
    )


@register_runner(default=True)
class SnippetRunner(DefaultRunner):
    """The runner of every python fence in `snippets/` and in the README."""

    update = False

    def runtest(self, test, args):
        """Fail unless the fence prints what the output fence under it says."""
        path = Path(test.source_path)
        name = path.relative_to(ROOT)
        text = path.read_text("utf-8")
        fence = SNIPPET.search(text)
        if not fence:
            raise WrongSnippetError(
                f"{name}: write a plain ```python fence, at the margin."
            )
        printed = execute(test.source, str(path))
        if fence["output"] is not None and same(fence["output"], printed):
            return
        if self.update:
            block = f"```\n\n```output\n{printed.rstrip()}\n```"
            path.write_text(
                text[: fence.end("code")] + block + text[fence.end() :], "utf-8"
            )
            print(f"\nwrote {name}:\n{printed}")
            return
        diff = difflib.unified_diff(
            (fence["output"] or "").splitlines(),
            printed.splitlines(),
            f"{name} says",
            "TensorFlow prints",
            lineterm="",
        )
        problem = "prints something else" if fence["output"] else "has no output fence"
        raise WrongSnippetError(
            f"{name} {problem}.\n\n" + "\n".join(diff) + "\n\nIf TensorFlow is right, "
            f"accept it with: python3 noxfile.py -s snippets -- --update {name}"
        )

    def repr_failure(self, test, excinfo, style=None):
        """Show a stale result as its diff and anything else as the fence's traceback."""
        if excinfo.errisinstance(WrongSnippetError):
            return str(excinfo.value)
        return super().repr_failure(test, excinfo, style)
