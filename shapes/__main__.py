"""Draw programs, and print each difference between ways to ask that no page explains.

`python -m shapes 1000` asks for gradients in three ways, and measures them; `--all` in each way,
for each question. `--seed 1` draws others. `--update` writes the counts to shapes/differ.txt.
`--find "an unused result"` says within how many programs a known difference is found by someone
who does not know it; `--find all --update` writes the table shapes/found.txt.
"""

import argparse
import collections
import gc
import os
import random
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, Phase, errors, find, settings

from shapes.differences import MEASURED, gaps_of
from shapes.known import KNOWN, name_of
from shapes.programs import OPERATIONS, programs, source_of
from shapes.ways import CHEAP, QUESTIONS, WAYS

HERE = Path(__file__).parent
# Each search draws the simplest program and a few others; a longer one would repeat their parts.
SEARCH = settings(
    max_examples=3,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


class Search:
    """Programs drawn one after the other, each once.

    Attributes:
        differ: Returns the differences of a program.
        without: Names of known differences that count as unknown.
        counts: How many programs were drawn, are the same, and have each known difference.
        seen: The programs that were drawn, with their unknown differences.
    """

    def __init__(self, differ, without=()):
        """Begin without a program."""
        self.differ, self.without = differ, without
        self.counts, self.seen = collections.Counter(), {}

    def unknown(self, program):
        """Return the differences of a program that are not known."""
        if program not in self.seen:
            names = [(name_of(one, self.without), one) for one in self.differ(program)]
            self.seen[program] = [one for name, one in names if not name]
            self.counts.update({name for name, _ in names if name})
            self.counts["programs"] += 1
            self.counts["the same"] += not names
            if len(self.seen) % 500 == 0:
                gc.collect()  # functions and their graphs hold each other
        return self.seen[program]

    def smallest(self, strategy, seed, passed=()):
        """Return the smallest program that differs in a way that is not passed over, or None.

        Args:
            strategy: What is drawn from.
            seed: Other numbers draw other programs.
            passed: Signs of differences that have been found before.
        """

        def differs(program):
            return any(is_unlike(one, passed) for one in self.unknown(program))

        try:
            return find(strategy, differs, settings=SEARCH, random=random.Random(seed))  # noqa: S311
        except errors.NoSuchExample:
            return None


def sign_of(difference):
    """Return what makes the difference of a smallest program another one than those before it."""
    # Of the operations that are needed, the others are as simple as they can be.
    least = max(difference.program.names, key=list(OPERATIONS).index)
    return difference.question, difference.way == MEASURED, difference.kind, least


def is_unlike(difference, passed):
    """Return whether a difference may be another one than those whose signs are passed over."""
    what = difference.question, difference.way == MEASURED, difference.kind
    return not any((*what, name) in passed for name in difference.program.names)


def unknown_differences(search, count, seed):
    """Yield the smallest program of each difference that nobody knows, in so many programs."""
    passed, drawn = set(), 0
    while len(search.seen) < count:
        program = search.smallest(programs(), f"{seed} {drawn}", passed)
        drawn += 1
        if program:
            new = [one for one in search.unknown(program) if is_unlike(one, passed)]
            passed |= {sign_of(one) for one in new}
            yield new[0]


def table_of_counts(search, seconds):
    """Return the counts as text, with the address that explains each known difference."""
    lines = [f"{search.counts['programs']:>6}  programs, {len(OPERATIONS)} operations"]
    lines.append(f"{search.counts['the same']:>6}  the same in all ways")
    unknown = sum(bool(found) for found in search.seen.values())
    lines.append(f"{unknown:>6}  with a difference that is not explained")
    for one in sorted(KNOWN, key=lambda one: -search.counts[one.name]):
        lines.append(f"{search.counts[one.name]:>6}  {one.name}: {one.address or 'no page yet'}")
    return "\n".join([*lines, "", f"{seconds:.0f} seconds; TensorFlow {tf.__version__}", ""])


def found_within(name, most, differ, seed):
    """Return after how many programs someone who does not know a difference finds it, and where.

    Returns:
        A number and the smallest program; None and None, if it is not among so many.
    """
    search, drawn = Search(differ, {name}), 0
    while len(search.seen) < most:
        program = search.smallest(programs(), f"{seed} {drawn}")
        drawn += 1
        if program:
            first = next(at for at, found in enumerate(search.seen.values(), 1) if found)
            return first, program
    return None, None


def print_found(asked, differ):
    """Print within how many programs known differences are found; return the exit status."""
    names = [one.name for one in KNOWN] if asked.find == "all" else [asked.find]
    lines, missed = [f"within  known difference; seed {asked.seed}"], 0
    for name in names:
        first, program = found_within(name, asked.count, differ, asked.seed)
        missed += first is None
        lines.append(f"{first or 'not in ' + str(asked.count):>6}  {name}")
        print(lines[-1], flush=True)
        if asked.find != "all" and program:
            print(source_of(program))
    if asked.update:
        text = "\n".join([*lines, "", f"TensorFlow {tf.__version__}", ""])
        (HERE / "found.txt").write_text(text, "utf-8")
    return int(missed > 0)


def quiet():
    """Switch off what TensorFlow logs and NumPy warns of: here it is no news."""
    tf.get_logger().setLevel("CRITICAL")
    np.seterr(all="ignore")


def main(arguments):
    """Run what the command line asks for, and return the exit status."""
    parser = argparse.ArgumentParser("shapes", description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--all", action="store_true", help="each way and each question")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--find", metavar="NAME", help="a known difference, or `all`")
    parser.add_argument("--update", action="store_true", help="write the counts down")
    asked = parser.parse_args(arguments)
    quiet()
    ways, questions = ((*CHEAP, MEASURED), ("gradient",))
    if asked.all:
        ways, questions = tuple(WAYS), tuple(QUESTIONS)

    def differ(program):
        return gaps_of(program, ways, questions)

    begun, found = time.perf_counter(), 0
    if asked.find:
        return print_found(asked, differ)
    search = Search(differ)
    for found, one in enumerate(unknown_differences(search, asked.count, asked.seed), 1):
        print(f"{found}. {one.told()}", flush=True)
    text = table_of_counts(search, time.perf_counter() - begun)
    print(text)
    if asked.update:
        (HERE / "differ.txt").write_text(text, "utf-8")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
