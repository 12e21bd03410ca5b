"""Print how much longer the verification takes than running the same code bare.

The floor is one process that imports TensorFlow once and executes the same snippets without
comparing anything. Both are whole processes, timed in turn; ratios of one run are comparable,
seconds are not. `nox -s bench` passes the command that verifies after `--`;
`nox -s bench -- --update` writes the ratios to the page on the method.
"""

import itertools
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conftest import ROOT, source
from test_pages import SNIPPETS

FLOOR = """
import sys
sys.path.insert(0, "tests")
import conftest
conftest.two_cpus()
for path in sys.argv[1:]:
    exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
"""


def seconds(*command):
    """Return the wall time of `command`, which must succeed."""
    start = time.perf_counter()
    subprocess.run(
        command,
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def ratio(snippets):
    """Return the median over three rounds of verification time divided by the floor's."""
    with tempfile.TemporaryDirectory(dir=ROOT / ".nox") as folder:
        pages, code = Path(folder, "pages"), Path(folder, "code")
        pages.mkdir()
        code.mkdir()
        for number, snippet in enumerate(snippets):
            shutil.copy(snippet, pages / f"{number}.md")
            # Saved with the suffix of Python: AutoGraph reads the source of what it compiles.
            (code / f"{number}.py").write_text(source(snippet), "utf-8")
        floor = [sys.executable, "-c", FLOOR, *map(str, code.iterdir())]
        check = [*sys.argv[sys.argv.index("--") + 1 :], str(pages)]
        return statistics.median(seconds(*check) / seconds(*floor) for _ in range(3))


def main():
    """Print the two ratios, and write them down with --update."""
    # A process of its own costs the same on both sides and would hide what checking costs.
    own = [s for s in SNIPPETS if not s.name.endswith(".tf1.md")]
    light = [s for s in own if "subprocess" not in s.read_text("utf-8")]
    hundred = list(itertools.islice(itertools.cycle(light), 100))
    report = (
        f"all {len(own)} snippets: {ratio(own):.2f} times the floor\n"
        f"100 snippets:    {ratio(hundred):.2f} times the floor\n"
    )
    print(report, end="")
    if "--update" in sys.argv:
        (ROOT / "snippets/method/bench.txt").write_text(report, "utf-8")


if __name__ == "__main__":
    main()
