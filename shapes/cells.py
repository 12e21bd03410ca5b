"""Run every recipe over the shapes that readers have, beside the old call, and keep what came out.

    python -m shapes.cells [RELEASE ...]    such as 2.4 or newest; by default all five
    python -m shapes.cells --only RECIPE    run this one again, and print what was seen; some: a,b

Only what has changed is run. An environment of an old release exists only while that is run.
"""

import collections
import contextlib
import importlib.metadata
import json
import os
import select
import subprocess
import sys
import time

from checks import ROOT
from releases.replay import chosen, environment
from shapes.kept import QUIET, RELEASES, cells_of, load_cells, save_cells
from shapes.recipes import RECIPES

TABLE = ROOT / "shapes/cells.txt"
LIMIT = 60  # seconds of a cell, TensorFlow's start included


class Worker:
    """A process that runs cells with a Python, and starts again after one that ended it."""

    def __init__(self, python):
        """Start when first asked."""
        self.python, self.run, self.fresh = python, None, True

    def __enter__(self):
        """Return the worker."""
        return self

    def __exit__(self, *_):
        """End its process."""
        if self.run:
            self.run.kill()
            self.run.wait()
            self.run.stdin.close()
            self.run.stdout.close()
            self.run = None

    def ask(self, cell):
        """Return the outcome of a cell and what was seen."""
        if not self.run:
            env = {name: value for name, value in os.environ.items() if name != "TF2_BEHAVIOR"}
            env |= {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            pipes |= {"stderr": subprocess.DEVNULL, "cwd": ROOT, "env": env}
            command = [self.python, "-m", "shapes.cell_worker"]
            self.run = subprocess.Popen(command, **pipes)
            self.fresh = True
        self.run.stdin.write(json.dumps(cell) + "\n")
        self.run.stdin.flush()
        ready = select.select([self.run.stdout], [], [], LIMIT)[0]
        if ready and (line := self.run.stdout.readline()):
            self.fresh = False
            return json.loads(line)
        alone, outcome = self.fresh, "ends the process" if ready else "hangs"
        self.__exit__()
        # One that ran before may be to blame: only what happens alone counts.
        return (outcome, "") if alone else self.ask(cell)


def context_of_python(release):
    """Return a context with the Python that has a release: this one, the tests' or a new one."""
    with contextlib.suppress(ImportError, KeyError):
        if release == "1.15.5":
            return contextlib.nullcontext(os.environ["TF1_PYTHON"])
        if release == importlib.metadata.version("tensorflow"):
            return contextlib.nullcontext(sys.executable)
    return environment(release)


def run_release(release, wanted, outcomes, tell):
    """Run cells on a release and put their outcomes into `outcomes`."""
    with context_of_python(release) as python, Worker(python) as worker:
        for cell in wanted:
            outcome, seen = worker.ask(cell)
            outcomes[cell, release] = outcome
            if tell and outcome not in QUIET:
                seen = " ".join(seen.split())
                print(f"{release} {' | '.join(cell)}: {outcome}\n    {seen[-300:]}", flush=True)


def table_of_outcomes(outcomes):
    """Return how many cells had each outcome on each release, as a table."""
    on = [(release, [o for (_, r), o in outcomes.items() if r == release]) for release in RELEASES]
    rows = [("", *(release for release, _ in on))]
    recipes = [len({c.recipe for c, r in outcomes if r == release}) for release in RELEASES]
    rows += [("recipes", *recipes), ("shapes", *(len(some) for _, some in on))]
    for kind in sorted({o if o.split()[0] != "raises" else "raises" for _, s in on for o in s}):
        named = (sum(o == kind or o.split()[0] == kind for o in some) for _, some in on)
        rows.append((kind, *named))
    lines = [f"{name:24}" + "".join(f"{one:>9}" for one in row) for name, *row in rows]
    return "\n".join(lines) + f"\n\nthe newest is TensorFlow {RELEASES[-1]}\n"


def main(arguments):
    """Run what is not up to date, and print the counts of each release."""
    only = arguments[1].split(",") if arguments[:1] == ["--only"] else []
    outcomes = load_cells()
    for release in chosen(arguments[2 * bool(only) :] or RELEASES):
        every = [cell for name in only or RECIPES for cell in cells_of(name)]
        wanted = [cell for cell in every if only or (cell, release) not in outcomes]
        begun = time.monotonic()
        try:
            if wanted:
                run_release(release, wanted, outcomes, tell=bool(only))
        finally:
            save_cells(outcomes)
            TABLE.write_text(table_of_outcomes(outcomes), "utf-8")
        counts = collections.Counter(o for (_, r), o in outcomes.items() if r == release)
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        spent = time.monotonic() - begun
        print(f"TensorFlow {release}: {len(wanted)} run in {spent:.0f} s; {told}")


if __name__ == "__main__":
    main(sys.argv[1:])
