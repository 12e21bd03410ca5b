"""Print how long the new program of each case takes, relative to its old graph.

Both run whole, from the first line to the last, in one process with TensorFlow 2.21: the graph is
built and the tf.functions are traced each time, and TensorFlow's import is not counted. They run
in turn, after a first time that imports what they need; the figure is the median of the ratios.
Only ratios of one run are comparable. `--update` writes them to the table of all cases.
"""

import contextlib
import io
import json
import runpy
import statistics
import sys
import tempfile
import time
from pathlib import Path

from checks import DOCS, SNIPPETS
from checks.snippets import read

TABLE = Path(__file__).with_suffix(".json")
ROUNDS = 5


def whole_run(name):
    """Return how many seconds the example `name` takes here."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:  # AutoGraph reads it
        file.write(read(SNIPPETS / name).code)
        file.flush()
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(file.name, run_name="__main__")
        return time.perf_counter() - start


def new_by_old(task):
    """Return the time of the new program of a case, divided by that of the old one."""
    pairs = [
        (whole_run(f"{task}/tape.md"), whole_run(f"{task}/graph.md")) for _ in range(1 + ROUNDS)
    ]
    return statistics.median(new / old for new, old in pairs[1:])


def main():
    """Print the table, and write it down with --update."""
    found = {}
    for page in sorted({*DOCS.glob("cases/*.md")} - {DOCS / "cases/index.md"}):
        found[page.stem] = float(f"{new_by_old('cases/' + page.stem):.2g}")
        print(f"{page.stem:24}{found[page.stem]:>6}", flush=True)
    if "--update" in sys.argv:
        TABLE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
