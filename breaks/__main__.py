"""Break what the site says on purpose, one break at a time, and count what the checks notice.

breaks/breaks.json lists the breaks: their kind, the file, the text `old` and what replaces it
there, `new`, and whether the checks of the first state of this site noticed it, `before`.
`nox -s breaks -- --update` writes the counts, and the commit that was broken, to the page on the
method.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from checks import ROOT
from pages.history import git_says

CHECK = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
PAGES = ["tests/test_pages.py", "tests/test_snippets.py"]
EVERYTHING_ELSE = shutil.ignore_patterns(".git", ".nox", "site", "__pycache__")


def noticed(folder, path):
    """Tell whether a check in the checkout `folder` fails, with `path` changed there."""
    runs = [PAGES]
    if path.startswith("snippets/"):
        runs.append(["--markdown-docs", path])
    return any(
        subprocess.run([*CHECK, *run], cwd=folder, check=False, capture_output=True).returncode
        for run in runs
    )


def main():
    """Make each break in a copy of the checkout, and print the counts of each kind.

    Raises:
        SystemExit: The checks fail without a break, or one does not apply any more.
    """
    breaks = json.loads(Path(__file__).with_name("breaks.json").read_text("utf-8"))
    gone = [b for b in breaks if (ROOT / b["file"]).read_text("utf-8").count(b["old"]) != 1]
    if gone:
        sys.exit("".join(f"{b['file']} does not hold once: {b['old']}\n" for b in gone))
    made, before, now = Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "copy")
        shutil.copytree(ROOT, folder, ignore=EVERYTHING_ELSE)
        if noticed(folder, "README.md"):
            sys.exit("The checks fail without a break; mend that first: nox -s tests")
        for each in breaks:
            file, kind = folder / each["file"], each["kind"]
            text = file.read_text("utf-8")
            file.write_text(text.replace(each["old"], each["new"]), "utf-8")
            found = noticed(folder, each["file"])
            file.write_text(text, "utf-8")
            made[kind] += 1
            before[kind] += each["before"]
            now[kind] += found
            print("noticed:" if found else "ESCAPED:", each["file"], each["new"], flush=True)
    rows = [(kind, made[kind], before[kind], now[kind]) for kind in made]
    rows.append(("all", made.total(), before.total(), now.total()))
    report = f"{'':44}{'breaks':>8}{'before':>8}{'now':>6}\n" + "".join(
        f"{kind:44}{of:>8}{then:>8}{today:>6}\n" for kind, of, then, today in rows
    )
    report += f"\nmade at commit {git_says(ROOT, 'rev-parse', '--short=8', 'HEAD')}"
    print(report, end="")
    if "--update" in sys.argv:
        Path(__file__).with_name("noticed.txt").write_text(report, "utf-8")


if __name__ == "__main__":
    main()
