"""Notebooks and Markdown: their code, and where it stands in the file and in its cell."""

import json
import re
from collections import namedtuple

from .reading import parses
from .tokens import magics

# Line magics that run the Python behind them, with their options.
RUNS = re.compile(
    r"([^\S\n]*|[^%!\n]*=[^\S\n]*)(%(?:time|timeit|prun|memit|mprun|lprun|debug)\b"
    r"(?:[ \t]+(?:-[nrp][ \t]*\d+|-[lsTDfm][ \t]+[\w.]+|--?[\w-]+))*[ \t]+)(?=\S)"
)
# Cells of Python, and of what is none even where it reads so; others are Python if they parse.
PYTHON = {"time", "timeit", "capture", "prun"}
LANGUAGES = set("bash sh script system sx cmd file writefile html HTML javascript js latex".split())
LANGUAGES |= {"", "R", "perl", "ruby", "julia", "svg", "SVG", "markdown", "sql", "bigquery"}
IDLE = re.compile(r"[-+ ](?:\s*(?:pass$|if 1:)|[^'\"]*=\s{6})").match  # perhaps a magic


class Line(namedtuple("Line", "code file_line cell cell_line")):
    """A line of code, and its numbers in the file and in its cell."""


def notebook_lines(text):
    """Return the lines of code of a notebook.

    Raises:
        KeyError, TypeError, AttributeError, RecursionError: It is no notebook.
        ValueError: It is not JSON.
    """
    cells = json.loads(text)
    if "worksheets" in cells:  # the format before 4
        cells = {"cells": [cell for sheet in cells["worksheets"] for cell in sheet["cells"]]}
    lines, at, row, counted = [], 0, 1, 0
    for number, cell in enumerate(cells["cells"], 1):
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input")) or ""
        found, rows = [], []
        for part in [source] if isinstance(source, str) else source:
            for packed in (json.dumps(part, ensure_ascii=False), json.dumps(part)):
                place = text.find(packed, at)
                if place >= 0:
                    at = place + len(packed)
                    break
            found += part.splitlines()
            row, counted = row + text.count("\n", counted, at), at
            rows += [row] * (len(found) - len(rows))
        places = zip(without_magics(found), rows)
        lines += [Line(code, row, number, inner) for inner, (code, row) in enumerate(places, 1)]
    return lines


def fenced_code(text):
    """Return the text of a Markdown file in which only the Python between its fences is left."""
    lines, fence, python = [], "", False
    for line in text.split("\n"):
        bare = line.strip(" >")
        mark = re.match(r"(`{3,}|~{3,})\s*(\S*)", bare)
        if not fence and mark:
            fence, python = mark[1], mark[2].lower().strip("{.}").startswith(("py", "ipython"))
            indent = len(line) - len(line.lstrip())
            lines.append("")
        elif fence and bare.startswith(fence) and not bare.strip(fence[0]):
            fence, python = "", False
            lines.append("")
        else:
            inner = line[indent:] if python and not line[:indent].strip() else line
            lines.append(re.sub(r"^(\s*)(>>> |\.\.\. )", r"\1", inner) if python else "")
    return "\n".join(lines)


def without_magics(lines):
    """Return the lines of a cell, in which a command of IPython does nothing."""
    code, done, at = "\n".join(lines), [], 0
    empty = ["pass"] * len(lines)
    head = re.match(r"\s*%%(\w*)", code)
    if head and head[1] in LANGUAGES:
        return empty
    for start, end in magics(code):
        runs = RUNS.match(code, start, end)
        # One that runs Python becomes what keeps the columns of the rest.
        word = runs and ("" if "=" in runs[1] else "if 1:").ljust(len(runs[2]))
        line = runs and runs[1] + word + code[runs.end() : end]
        if not line or not parses(line.strip()):
            idle = re.compile(r"\s*").match(code, start)[0] + "pass"
            line = "\n".join([idle] * (code.count("\n", start, end) + 1))
        done += [code[at:start], line]
        at = end
    code = "".join(done) + code[at:]
    return empty if head and head[1] not in PYTHON and not parses(code) else code.split("\n")


def in_cell(found, lines):
    """Return a finding with the numbers of its lines; a hunk over two cells is none."""
    line = lines[min(found.line, len(lines)) - 1]
    hunk = found.hunk
    if hunk:
        first, last = lines[hunk.start - 1], lines[hunk.start + hunk.old - 2]
        joined = first.cell == last.cell and not any(map(IDLE, hunk.lines))
        hunk = hunk._replace(start=first.cell_line) if joined else None
    place = {"line": line.file_line, "cell": line.cell, "cell_line": line.cell_line}
    return found._replace(hunk=hunk, edits=(), **place)
