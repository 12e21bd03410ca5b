"""Draw programs, and print each difference between ways to ask that no page explains.

`python -m shapes 1000` asks for gradients in three ways, and measures them; `--all` in each way,
for each question. `--seed 1` draws others. `--update` writes into
shapes/differ.txt how often each known difference was there, and into shapes/found.txt when first.
`--find "an unused result"` takes away what explains a known difference, and stops where that is
found.
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
from shapes.known import KNOWN, names_of
from shapes.programs import OPERATIONS, programs
from shapes.ways import CHEAP, QUESTIONS, WAYS

HERE = Path(__file__).parent
# Each search draws the simplest program and a few others; a longer one would repeat their parts.
DRAW = settings(
    max_examples=3,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
SHRINK = settings(DRAW, phases=(Phase.generate, Phase.shrink))


class Search:
    """Programs drawn one after the other, each once.

    Attributes:
        differ: Returns the differences of a program.
        without: Names of known differences that count as unknown.
        counts: How many programs were drawn, are the same, and have each known difference.
        alone: For each known difference after how many programs there was one without another
            explanation: someone who does not know it would have found it there.
        seen: The programs that were drawn, with their unknown differences.
    """

    def __init__(self, differ, without=()):
        """Begin without a program."""
        self.differ, self.without = differ, set(without)
        self.counts, self.alone, self.seen = collections.Counter(), {}, {}

    def unknown(self, program):
        """Return the differences of a program that are not known."""
        if program not in self.seen:
            found = [(one, names_of(one)) for one in self.differ(program)]
            self.seen[program] = [one for one, names in found if not {*names} - self.without]
            self.counts.update({names[0] for _, names in found if names})
            self.counts["the same"] += not found
            for name in (names[0] for _, names in found if len(names) == 1):
                self.alone.setdefault(name, len(self.seen))
            if len(self.seen) % 500 == 0:
                gc.collect()  # functions and their graphs hold each other
        return self.seen[program]


def drawn_program(condition, seed, how=DRAW):
    """Return a program that fulfils a condition, or None; the same ones for the same seed."""
    try:
        return find(programs(), condition, settings=how, random=random.Random(seed))  # noqa: S311
    except errors.NoSuchExample:
        return None


def smallest(difference, seed, without=()):
    """Return the same difference in the smallest program that has it."""
    question, way = difference.question, difference.way
    ways, found = (QUESTIONS[question][0], way), {}

    def differs(program):
        those = gaps_of(program, ways, (question,))
        those = [one for one in those if one.kind == difference.kind]
        found[program] = [one for one in those if not {*names_of(one)} - {*without}]
        return bool(found[program])

    program = drawn_program(differs, seed, SHRINK)
    return found[program][0] if program else difference


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
    """Yield each difference that nobody knows, in its smallest program, in so many programs."""
    passed, drawn = set(), 0

    def unlike(program):
        return [one for one in search.unknown(program) if is_unlike(one, passed)]

    while len(search.seen) < count:
        here = f"{seed} {drawn}"
        program = drawn_program(unlike, here)
        drawn += 1
        if program:
            one = smallest(unlike(program)[0], here, search.without)
            passed.add(sign_of(one))
            yield one


def table_of_counts(search, seconds):
    """Return the counts as text, with the address that explains each known difference."""
    unknown = sum(map(bool, search.seen.values()))
    rows = [
        (len(search.seen), f"programs of {len(OPERATIONS)} operations"),
        (search.counts["the same"], "the same in all ways"),
        (unknown, "with a difference that is not known"),
        *(
            (search.counts[one.name], f"{one.name}: {one.address or 'no page yet'}")
            for one in sorted(KNOWN, key=lambda one: -search.counts[one.name])
            if search.counts[one.name]
        ),
    ]
    text = "\n".join(f"{count:>6}  {what}" for count, what in rows)
    return f"{text}\n\n{seconds:.0f} seconds of computing; TensorFlow {tf.__version__}\n"


def table_of_found(search):
    """Return as text after how many programs each known difference was there by itself."""
    found = sorted(search.alone.items(), key=lambda row: row[1])
    missed = [(one.name, "-") for one in KNOWN if one.name not in search.alone]
    text = "\n".join(
        f"{at:>6}  {name}" for name, at in [("known difference", "found"), *found, *missed]
    )
    return f"{text}\n\n{len(search.seen)} programs; TensorFlow {tf.__version__}\n"


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
    parser.add_argument("--find", metavar="NAME", help="a known difference")
    parser.add_argument("--update", action="store_true", help="write the counts down")
    asked = parser.parse_args(arguments)
    quiet()
    ways, questions = ((*CHEAP, MEASURED), ("gradient",))
    if asked.all:
        ways, questions = tuple(WAYS), tuple(QUESTIONS)

    def differ(program):
        return gaps_of(program, ways, questions)

    begun, found = time.process_time(), 0
    search = Search(differ, {asked.find} - {None})
    for found, one in enumerate(unknown_differences(search, asked.count, asked.seed), 1):
        print(f"{found}. {one.told()}", flush=True)
        if search.without:
            print(f"found within {len(search.seen)} programs")
            return 0
    seconds = time.process_time() - begun
    tables = {"differ.txt": table_of_counts(search, seconds), "found.txt": table_of_found(search)}
    for name, text in tables.items():
        print(text)
        if asked.update:
            (HERE / name).write_text(text, "utf-8")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
