"""Replay every example on one TensorFlow release after the other and keep what each printed.

    replay_releases.py [RELEASE ...]    such as 2.4, 2.4.4, oldest or newest; all by default
    replay_releases.py --again ...      replay what is up to date, too
    replay_releases.py --check ...      the same, but compare with the data instead of writing
    replay_releases.py --merge FILE ... join data files, as parallel runs leave them

The recipes are the lock files in requirements/releases/; an environment exists only while its
release is replayed. docs/evidence/releases.json is written after each release, and when a run is
interrupted, so that the next run goes on from there. It maps each example to its hash and, for
each outcome and text, to the releases: what was printed where that `differs`, the error's last
line where the example is `not available`.
"""

import contextlib
import json
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

from conftest import ROOT, SNIPPET, same
from releases import DATA, RELEASES, digest, load, minor, snippets, version

SPACE = 3e9  # bytes: the largest environment and its downloads
PLACES = "|".join(map(re.escape, (str(ROOT), tempfile.gettempdir(), str(Path.home()))))
VARIES = re.compile(
    rf"(?:{PLACES})[\w./@-]*/|(?<=__autograph_generated_file)\w+|0x[0-9a-f]+"
)


def save(outcomes, texts):
    """Write `outcomes` over the data file, in one step that cannot be interrupted half-way.

    `texts` are the examples as they were replayed, which the files may no longer be.
    """
    data = {}
    for (name, release), (kind, text) in sorted(
        outcomes.items(), key=lambda item: (item[0][0], version(item[0][1]))
    ):
        data.setdefault(name, {"hash": digest(texts[name]), "outcomes": {}})
        data[name]["outcomes"].setdefault(kind, {}).setdefault(text, []).append(release)
    draft = DATA.with_suffix(".draft")
    draft.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
    draft.replace(DATA)


def outcome(expected, printed, error):
    """Classify what an example did, without what names a machine or changes with every run."""
    if error:
        # The exception, and the end of its message, which may name the cause.
        named = re.findall(r"^[\w.]+: .*|^[\w.]+$", error, re.M)[-1:]
        ended = error.strip().splitlines()[-1].strip()
        told = " … ".join(dict.fromkeys([*named, ended]))
        told = re.sub(
            r"(?<=CalledProcessError: ).*", "a program that it starts fails", told
        )
        return "not available", VARIES.sub("…", told)[:200]
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
    try:
        for step in (["venv", "--clear", "--python", wanted, home], install):
            if subprocess.run([*uv, *step], check=False).returncode:
                sys.exit(
                    f"TensorFlow {release} could not be installed on Python {wanted}; "
                    "uv says why above. It needs the network, and TensorFlow has wheels of old "
                    "releases for x86-64 only. What was replayed so far is saved."
                )
        yield home / "bin/python"
    finally:
        shutil.rmtree(home, ignore_errors=True)


def replay(release, names, texts, found):
    """Run the examples `names` of `texts` on `release` and put their outcomes into `found`."""
    todo = queue.SimpleQueue()
    for name in names:
        todo.put(name)
    # TensorFlow 2 leaves TF2_BEHAVIOR behind, which TensorFlow 1.15 would obey.
    env = {k: v for k, v in os.environ.items() if k != "TF2_BEHAVIOR"}

    def work(command):
        with (
            tempfile.TemporaryFile("w+") as log,
            subprocess.Popen(
                command,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as worker,
        ):

            def answer():
                if line := worker.stdout.readline():
                    return json.loads(line)
                log.seek(0)
                raise SystemExit(
                    f"TensorFlow {release} ended. What was replayed so far is saved; to go on, run "
                    f"the command again.\n{log.read()[-2000:]}"
                )

            answer()
            while not todo.empty():
                with contextlib.suppress(queue.Empty):
                    name = todo.get_nowait()
                    fence = SNIPPET.search(texts[name])
                    # In TensorFlow 1, what is not written for its graphs expects TensorFlow 2.
                    graph = (
                        name.endswith(".tf1.md") or "compat.v1 as tf" in fence["code"]
                    )
                    eager = version(release) < (2,) and not graph
                    job = [fence["code"], name, eager]
                    worker.stdin.write(json.dumps(job) + "\n")
                    worker.stdin.flush()
                    found[name, release] = outcome(fence["output"], *answer())
                    show(release, len(names) - todo.qsize(), len(names))
            worker.stdin.close()

    with environment(release) as interpreter:
        command = [interpreter, ROOT / "tests/replay.py"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(work, [command] * os.cpu_count()))


def show(release, done, of):
    """Show how far a release is, on a line of its own where that can be overwritten."""
    if sys.stdout.isatty():
        print(f"\rTensorFlow {release}: {done} of {of} ", end="", flush=True)


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


def main(arguments):
    """Replay or merge, print the counts of each release, and return what went wrong."""
    if arguments[:1] == ["--merge"]:
        files = [load(Path(file)) for file in arguments[1:]]
        save({key: value for file in files for key, value in file.items()}, snippets())
        return None
    texts = snippets()
    for name, text in texts.items():
        if not SNIPPET.search(text)["output"]:
            return (
                f"snippets/{name} has no output; write it with: python3 noxfile.py -s snippets "
                f"-- --update snippets/{name}"
            )
    check, again = "--check" in arguments, "--again" in arguments
    outcomes, wrong = load(), []
    for release in chosen([a for a in arguments if a not in ("--check", "--again")]):
        stale = [n for n in texts if (n, release) not in outcomes]
        names = list(texts) if check or again else stale
        found, start = {}, time.monotonic()
        try:
            if names:
                replay(release, names, texts, found)
        finally:
            if found and not check:
                outcomes |= found
                save(outcomes, texts)
        for key, (kind, text) in found.items():
            if check and key in outcomes and outcomes[key][0] != kind:
                wrong.append(
                    f"{key[0]} on TensorFlow {release}: {kind}, not {outcomes[key][0]}. {text}"
                )
        counts = Counter(
            kind for (_, r), (kind, _) in (outcomes | found).items() if r == release
        )
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
        sys.exit(
            "Interrupted. What was replayed is saved; the same command goes on from there."
        )
