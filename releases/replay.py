"""Replay every example on one TensorFlow release after the other and keep what each printed.

    python -m releases.replay [RELEASE ...]    such as 2.4, 2.4.4, oldest or newest; all by default
    python -m releases.replay --again ...      replay what is up to date, too
    python -m releases.replay --check ...      the same, but compare, and write nothing
    python -m releases.replay --merge FOLDER ... join the data that parallel runs left

The recipes are the lock files in requirements/releases/; an environment exists only while its
release is replayed. The files in releases/printed/ are written after each release, and when a run
is interrupted, so that the next run goes on from there.
"""

import contextlib
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks import ROOT
from checks.compare import same
from checks.other_tensorflow import tensorflow
from checks.snippets import load_examples
from releases.data import RELEASES, load_outcomes, minor, save, version

SPACE = 3e9  # bytes: the largest environment and its downloads
PLACES = "|".join(map(re.escape, (str(ROOT), tempfile.gettempdir(), str(Path.home()))))
FAILED = r"(?<=\[\[\{\{node )\w+"  # of several that run at once, the first to fail is named
STARTS = r"(?<=numpy=)\s*array\(.*?\](?:, dtype=\w+)?\)"  # a variable, mostly at random values
RAN = r"(?:>>>  File \S+/checks/worker\.py, line .*?\n)+"  # ours, in a trace of a graph
# The last: where `fit` of TensorFlow 1.13 takes a tensor apart, now this fails first and now that.
VARIES = re.compile(
    rf"{RAN}|(?:{PLACES})[\w./@-]*/(?:tmp\w{{8}}\b)?|(?<=__autograph_generated_file)\w+|0x[0-9a-f]+|{FAILED}|{STARTS}|(?<=errors_impl\.InvalidArgumentError:\s)(?:slice\sindex\s1\sof\sdimension\s1\sout.*|.*\[Op:StatefulPartitionedCall\])",
    re.S,
)


def outcome(expected, printed, error):
    """Classify what an example did, without what names a machine or changes with every run."""
    if error:
        error = VARIES.sub("…", error)
        # The exception, and the end of its message, which may name the cause.
        named = re.findall(r"^[\w.]+: .*|^[\w.]+$", error, re.M)[-1:]
        ended = error.strip().splitlines()[-1].strip()
        told = " … ".join(dict.fromkeys([*named, ended]))
        told = re.sub(r"(?<=CalledProcessError: ).*", "a program that it starts fails", told)
        return "not available", told[:200]
    if same(expected, printed):
        return "same", ""
    return "differs", VARIES.sub("…", printed.rstrip())


@contextlib.contextmanager
def environment(release):
    """Make an environment with `release`, yield its Python, and delete it.

    Raises:
        SystemExit: There is no room, or uv cannot install it; uv's own message stands above.
    """
    home = ROOT / ".nox/tensorflow" / release
    home.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home.parent).free
    if free < SPACE:
        sys.exit(
            f"TensorFlow {release} needs {SPACE / 1e9:.0f} GB of disk for a while, and "
            f"{free / 1e9:.1f} GB are free. What was replayed so far is saved."
        )
    uv = [os.environ.get("UV", "uv"), "--quiet"]
    # The last patches of the older ones have no wheel for a newer Python.
    old = version(release) < (2, 12)
    wanted = os.environ.get("PYTHON37", "3.7") if old else "3.11"
    lock = ROOT / f"requirements/releases/{release}.txt"
    install = ["pip", "sync", "--python", home, lock]
    shutil.rmtree(home, ignore_errors=True)  # what a run that was cut off left there
    try:
        for step in (["venv", "--python", wanted, home], install):
            if subprocess.run([*uv, *step], check=False).returncode:
                sys.exit(
                    f"TensorFlow {release} could not be installed on Python {wanted}; "
                    "uv says why above. It needs the network, and TensorFlow has wheels of old "
                    "releases for x86-64 only. What was replayed so far is saved."
                )
        yield home / "bin/python"
    finally:
        shutil.rmtree(home, ignore_errors=True)


def replay(release, todo, found):
    """Run the examples `todo` on `release` and put their outcomes into `found`."""
    waiting = queue.SimpleQueue()
    for snippet in todo:
        waiting.put(snippet)

    def work(python):
        with tensorflow(python) as run, contextlib.suppress(queue.Empty):
            while True:
                snippet = waiting.get_nowait()
                # In TensorFlow 1, what is not written for its graphs expects TensorFlow 2.
                eager = version(release) < (2,) and not snippet.graph
                result = run(snippet.code, snippet.name, eager)
                found[snippet.name, release] = outcome(snippet.output, *result)
                if sys.stdout.isatty():
                    print(f"\rTensorFlow {release}: {len(found)} of {len(todo)} ", end="")

    with environment(release) as python, ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, [python] * os.cpu_count()))


def chosen(arguments):
    """Return the releases that `arguments` name; a minor release means its last patch here.

    Raises:
        SystemExit: There is no such release here.
    """
    names = {"oldest": RELEASES[0], "newest": RELEASES[-1]}
    names |= {minor(r): r for r in RELEASES} | {r: r for r in RELEASES}
    if unknown := [a for a in arguments if a not in names]:
        sys.exit(
            f"No recipe for TensorFlow {', '.join(unknown)}: known are oldest, newest, "
            f"{', '.join(RELEASES)}. To add one, see CONTRIBUTING.md."
        )
    return [names[a] for a in arguments] or RELEASES


def ended_by_chance(examples, outcomes):
    """Return the outcomes of examples that kill their process: they read memory not their own.

    How such a process ends differs from run to run, so what was seen first is kept.
    """
    return {key: value for key, value in outcomes.items() if examples[key[0]].kills}


def main(arguments):
    """Replay or merge, print the counts of each release, and return what went wrong."""
    examples = load_examples()
    digests = {name: snippet.digest for name, snippet in examples.items()}
    if arguments[:1] == ["--merge"]:
        folders = [load_outcomes(Path(folder), examples) for folder in arguments[1:]]
        merged = {key: value for folder in folders for key, value in folder.items()}
        save(merged | ended_by_chance(examples, load_outcomes()), digests)
        return None
    check, again = "--check" in arguments, "--again" in arguments
    outcomes, wrong = load_outcomes(), []
    by_chance = ended_by_chance(examples, outcomes)
    for release in chosen([a for a in arguments if a not in ("--check", "--again")]):
        names = [n for n in examples if check or again or (n, release) not in outcomes]
        found, start = {}, time.monotonic()
        try:
            if names:
                replay(release, [examples[name] for name in names], found)
        finally:
            if found and not check:
                outcomes |= found
                save(outcomes, digests)
        for key, (kind, text) in found.items():
            known, said = outcomes.get(key, ("not replayed", ""))
            if check and key not in by_chance and (kind != known or not same(said, text)):
                wrong.append(f"{key[0]} on TensorFlow {release}: {kind}, not {known}.\n{text}")
        counts = Counter(k for (_, r), (k, _) in (outcomes | found).items() if r == release)
        print(
            f"\rTensorFlow {release}: {len(names)} replayed in {time.monotonic() - start:.0f} s; "
            + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
        )
    if wrong:
        wrong.append("If that is right, renew the data: python3 noxfile.py -s releases")
    return "\n".join(wrong) or None


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("Interrupted. What was replayed is saved; the same command goes on from there.")
    except RuntimeError as error:
        sys.exit(f"{error}\nWhat was replayed is saved; the same command goes on from there.")
