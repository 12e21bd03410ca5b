"""Change every stated result, one at a time, and report which changes the checks miss.

A result is stated in an output fence or in prose. Each number is changed in its first
significant digit and in its last printed one, each exception name into another, and each
True, False and None. A snippet runs once, however many changes its output fence goes through.
"""

import re
import sys

import pytest
from conftest import ROOT, SNIPPET, execute, same, source
from test_pages import PAGES, SNIPPETS, claims, relative, text, unsupported

STATED = re.compile(
    r"(?<!\w)\d+(?:\.\d+)?|\b(?:\w+(?:Error|Exception|Warning)|True|False|None)\b"
)
SWAP = {"True": "False", "False": "True", "None": "True", "ValueError": "TypeError"}


def changes(stated):
    """Yield wrong variants of a stated result, each with one number or name changed."""
    for found in STATED.finditer(stated):
        if found[0][0].isdigit():
            digits = [d.start() for d in re.finditer(r"\d", found[0])]
            first = next((i for i in digits if found[0][i] != "0"), digits[0])
            for i in {first, digits[-1]}:
                wrong = found[0][:i] + str(int(found[0][i]) % 9 + 1) + found[0][i + 1 :]
                yield stated[: found.start()] + wrong + stated[found.end() :]
        else:
            wrong = SWAP.get(found[0], "ValueError")
            yield stated[: found.start()] + wrong + stated[found.end() :]


def main():
    """Print each change that escapes, then the count; exit with 1 if there was one."""
    caught, escaped = 0, []
    for path in [*SNIPPETS, ROOT / "README.md"]:
        output = SNIPPET.search(path.read_text("utf-8"))["output"]
        try:
            printed = execute(source(path), str(path))
        except pytest.skip.Exception as reason:
            print(f"{relative(path)} not tried. {reason}")
            continue
        for wrong in changes(output):
            if same(wrong, printed):
                escaped.append(f"{relative(path)}: {wrong!r}")
            else:
                caught += 1
    for path in PAGES:
        page = text(path)
        for claim in claims(page):
            for wrong in changes(claim[0]):
                if unsupported(page[: claim.start()] + wrong + page[claim.end() :]):
                    caught += 1
                else:
                    line = page.count("\n", 0, claim.start()) + 1
                    escaped.append(f"{relative(path)}:{line}: {claim[0]} -> {wrong}")
    for escape in escaped:
        print("escaped:", escape)
    print(f"{caught} of {caught + len(escaped)} wrong results were caught.")
    return bool(escaped)


if __name__ == "__main__":
    sys.exit(main())
