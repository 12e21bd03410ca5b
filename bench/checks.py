"""Print how much longer the verification takes than running the same code bare.

The floor is one process that imports TensorFlow once and executes the same examples one after
the other, comparing nothing. Both are whole processes, timed in turn; ratios of one run are
comparable, seconds are not. `nox -s bench` passes the command that verifies after `--`, and
`nox -s bench -- --update` writes the ratios to the page on the method.
"""

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checks import ROOT
from checks.snippets import load

FLOOR = """
import contextlib
import sys
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
for path in sys.argv[1:]:
    with contextlib.suppress(Exception):  # one in a hundred cannot follow the others
        exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
"""
# What ends its process, or changes it for all that follow, has no floor.
ALONE = ("kills_process", "disable_eager", "disable_v2", "subprocess")


def seconds(*command):
    """Return the wall time of `command`, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def ratio(examples):
    """Return the median over three rounds of verification time divided by the floor's."""
    with tempfile.TemporaryDirectory(dir=ROOT / ".nox") as folder:
        pages, code = Path(folder, "pages"), Path(folder, "code")
        pages.mkdir()
        code.mkdir()
        for number, example in enumerate(examples):
            fences = f"```python\n{example.code}```\n\n```output\n{example.output}```\n"
            (pages / f"{number}.md").write_text(fences, "utf-8")
            # Saved with the suffix of Python: AutoGraph reads the source of what it compiles.
            (code / f"{number}.py").write_text(example.code, "utf-8")
        floor = [sys.executable, "-c", FLOOR, *map(str, code.iterdir())]
        check = [*sys.argv[sys.argv.index("--") + 1 :], str(pages)]
        return statistics.median(seconds(*check) / seconds(*floor) for _ in range(3))


def main():
    """Print the two ratios, and write them down with --update."""
    light = [
        example
        for example in load().values()
        if not example.old and not any(word in example.name + example.code for word in ALONE)
    ]
    hundred = list(itertools.islice(itertools.cycle(light), 100))
    report = (
        f"all {len(light)} examples: {ratio(light):.2f} times the floor\n"
        f"100 examples:     {ratio(hundred):.2f} times the floor\n"
    )
    print(report, end="")
    if "--update" in sys.argv:
        Path(__file__).with_suffix(".txt").write_text(report, "utf-8")


if __name__ == "__main__":
    main()
