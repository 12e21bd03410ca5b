"""Notebooks and Markdown: their code, and where it stands in the file and in its cell."""

import json
import re
from collections import namedtuple

from .tokens import magics


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
    lines, at = [], 0
    for number, cell in enumerate(cells["cells"], 1):
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        found, rows = [], []
        for part in [source] if isinstance(source, str) else source:
            for packed in (json.dumps(part, ensure_ascii=False), json.dumps(part)):
                place = text.find(packed, at)
                if place >= 0:
                    at = place + len(packed)
                    break
            found += part.splitlines()
            rows += [text.count("\n", 0, at) + 1] * (len(found) - len(rows))
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
    code = "\n".join(lines)
    other = lines and re.match(r"%%(?!time|capture|prun)", lines[0])  # another language
    done, at = [], 0
    for start, end in [(0, len(code))] if other else magics(code):
        idle = re.compile(r"\s*").match(code, start)[0] + "pass"
        done += [code[at:start], "\n".join([idle] * (code.count("\n", start, end) + 1))]
        at = end
    return ("".join(done) + code[at:]).split("\n")


def in_cell(found, lines):
    """Return a finding with the numbers of its lines; a hunk over two cells is none."""
    line = lines[min(found.line, len(lines)) - 1]
    hunk = found.hunk
    if hunk:
        first, last = lines[hunk.start - 1], lines[hunk.start + hunk.old - 2]
        idle = any(re.match(r"[-+ ]\s*pass$", one) for one in hunk.lines)  # perhaps a magic
        joined = first.cell == last.cell and not idle
        hunk = hunk._replace(start=first.cell_line) if joined else None
    place = {"line": line.file_line, "cell": line.cell, "cell_line": line.cell_line}
    return found._replace(hunk=hunk, edits=(), **place)
