"""Print how much longer the verification takes than running the same code bare.

The floor is one process that imports TensorFlow once and executes the same examples one after
the other, comparing nothing. Both are whole processes, timed in turn; ratios of one run are
comparable, seconds are not. `nox -s bench` passes the command that verifies after `--`, and
`nox -s bench -- --update` writes the ratios to the page on the method.
"""

import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from checks import ROOT, SNIPPETS
from checks.snippets import load_examples

FLOOR = """
import contextlib
import sys
import tensorflow as tf

for path in sys.argv[1:]:
    with contextlib.suppress(Exception):  # one in a hundred cannot follow the others
        exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
"""


def wall_time(*command):
    """Return the seconds that `command` takes, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def times_the_floor(examples):
    """Return the median over three rounds of verification time divided by the floor's."""
    with tempfile.TemporaryDirectory() as folder:
        floor = [sys.executable, "-c", FLOOR]
        for number, example in enumerate(examples):
            # Saved with the suffix of Python: AutoGraph reads the source of what it compiles.
            path = Path(folder, f"{number}.py")
            path.write_text(example.code, "utf-8")
            floor.append(str(path))
        verify = sys.argv[sys.argv.index("--") + 1 :]
        check = [*verify, *(str(SNIPPETS / example.name) for example in examples)]
        return statistics.median(wall_time(*check) / wall_time(*floor) for _ in range(3))


def main():
    """Print the two ratios, and write them down with --update."""
    every = list(load_examples().values())
    light = [example for example in every if not example.alone]
    report = ""
    for count in (400, 100):
        ratio = times_the_floor(random.Random(0).sample(light, count))  # noqa: S311
        report += f"{count} of {len(every)} examples: {ratio:.2f} times the floor\n"
    report += f"\n{os.cpu_count()} {platform.machine()} cores, TensorFlow {version('tensorflow')}\n"
    print(report, end="")
    if "--update" in sys.argv:
        Path(__file__).with_suffix(".txt").write_text(report, "utf-8")


if __name__ == "__main__":
    main()
