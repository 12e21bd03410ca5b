"""Reading: a file becomes a tree, however old it is."""

import ast
import bisect
import re
from collections import namedtuple

from .rules import triggers
from .tokens import is_deep, line_starts, logical_lines, magics, scan, tokens

PRINT = re.compile(
    r"^(\s*|.*?[:;]\s*)(print|exec)(?:[ \t]+(?![ \t=(]|in\b)|(?=[\"'])|[ \t]*$)", re.S
)
# What a line must hold, else looking takes most of the time; what is to be mended, and how.
REPAIRS = [
    (hint, re.compile(pattern), new)
    for hints, pattern, new in (
        ("except", r"^(\s*except\b[^:,()]*(?:\([^()]*\))?[^:,()]*), *(\w+) *:", r"\1 as \2:"),
        ("raise", r"^(\s*raise\b[^,()]+),", r"\1;"),
        ("lambda", r"\blambda *\(([^()]*)\) *:", r"lambda  \1 :"),
        ("00 01 02 03 04 05 06 07", r"(?<![.\w])(?<![eE][-+])0(?=[0-7]+\b(?!\.))", " "),
        ("0x 0l 1l 2l 3l 4l 5l 6l 7l 8l 9l", r"\b(\d+|0[xX][0-9a-fA-F]+)[lL]\b", r"\1 "),
        ("ur", r"\b[uU]([rR]['\"])", r" \1"),
        ("<>", r"<>", "!="),
        ("async", r"\basync\b(?=\s*[=,)])", "asynC"),
        ("`", r"`([^`\n]*)`", r"(\1)"),
    )
    for hint in hints.split()
]


def repaired(line):
    """Return a logical line of Python 2 as Python 3, names at their places."""
    bare = line.rstrip()
    tail = line[len(bare) :]
    found = ("print" in bare or "exec" in bare) and PRINT.match(bare)
    if found and "\n" not in found[1]:
        ahead, rest = bare[: found.end()], re.sub(r"^>>", "  ", bare[found.end() :])
        ahead = ahead[:-1] if ahead[-1:] in " \t" else ahead
        cut = next((at for kind, _, at, _ in scan(rest) if kind == "comment"), len(rest))
        code = rest[:cut].rstrip()
        bare = f"{ahead}({code}){rest[len(code) :]}"
    small = bare.lower()
    for hint, pattern, new in REPAIRS:
        if hint in small:
            bare = pattern.sub(new, bare)
    return bare + tail


def parses(code):
    """Return the tree of `code`, or None."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def alone(line):
    """Tell whether a logical line is Python, apart from its neighbours."""
    code = line.strip()
    if not code or code[0] in "#@":
        return True
    if re.match(r"(?:elif|else|except|finally|case)\b", code):
        code = re.sub(r"^elif\b", "if", code)
        code = re.sub(r"^(?:else|finally)\b", "if 1", code)
        code = re.sub(r"^except\b *([^:]*?)(?: +as +\w+)? *:", r"if (\1) or 1:", code)
        code = re.sub(r"if \(\) or", "if", code)
    return any(map(parses, (code, code + " pass", "async def f():\n " + code)))


class Place(namedtuple("Place", "line column")):
    """A place in a text, both from 1."""


class Edit(namedtuple("Edit", "start end text")):
    """A change: a part of a text, and what stands there then."""


def place_in(starts, offset):
    """Return the place of an offset, from where the lines start."""
    line = bisect.bisect_right(starts, offset)
    return Place(line, offset - starts[line - 1] + 1)


class Text:
    """The text of one file as code, its tree, and what had to be left out of the tree."""

    def __init__(self, text):
        """Read `text`, mending what is not Python 3."""
        self.text = self.original = text
        self.given, self.how, self.left = text.split("\n"), "", []
        self.tree = None if len(text) > 20000 and self._dangerous(text) else parses(text)
        if self.tree is None and text.strip():
            self._mend()
        self.starts = line_starts(self.text)

    @staticmethod
    def _dangerous(text):
        return max(map(len, text.split("\n"))) > 10000 and is_deep(tokens(text))

    def _mend(self):
        """Repair Python 2, then leave out the lines that still are not Python."""
        text = self.text
        if "\t" in text:  # Python 2 took eight columns for a tab
            text = re.sub(r"^[ \t]+", lambda found: found[0].expandtabs(8), text, flags=re.M)
        self.text = self.original = code = text
        for start, end in magics(text):
            code = code[:start] + re.sub(r"[^\n]", "#", code[start:end]) + code[end:]
        words = list(tokens(code))
        spans = list(logical_lines(code, words))
        self.deep = is_deep(words)
        mended = [repaired(code[a:b]) for a, b in spans]
        self.tree = None if self.deep else parses("".join(mended))
        if self.tree is not None:
            self.how, self.text = "mended", "".join(mended)
        elif not self._without_worst(spans, mended):
            self._by_line(spans, mended)

    def _by_line(self, spans, mended):
        """Leave out each line that is no Python by itself."""
        kept = []
        for (a, b), line in zip(spans, mended):
            if len(line) < 5000 and alone(line):
                kept.append(line)
            else:
                kept.append(self._blank(line))
                self.left.append((a, b))
        self.how, self.text = "words", "".join(kept)
        self.tree = parses(self.text) or self._flat(kept)

    def _without_worst(self, spans, mended):
        """Leave out the lines that the parser names, a few; tell whether the rest is Python."""
        kept, starts, number = list(mended), [], 1
        for line in mended:
            starts.append(number)
            number += line.count("\n")
        for _ in range(10 if len(self.text) < 1 << 20 else 2):
            try:
                self.tree = None if self.deep else ast.parse("".join(kept))
            except SyntaxError as error:
                at = bisect.bisect_right(starts, error.lineno or 1) - 1
                if "expected an indented block" in str(error.msg) and self._close(kept, at):
                    continue
                kept[at] = self._blank(mended[at], closed=kept[at] != mended[at])
                self.left.append(spans[at])
                continue
            except (ValueError, RecursionError, MemoryError, OverflowError):
                pass
            break
        if self.tree is None:
            self.left = []
            return False
        self.how, self.text = "words" if self.left else "mended", "".join(kept)
        return True

    @staticmethod
    def _close(kept, at):
        """Give the last line of code up to `at` a body, if it opens an empty block."""
        for number in range(at, -1, -1):
            line = kept[number]
            words = [(word, end) for kind, word, _, end in tokens(line) if kind != "newline"]
            if words and words[-1][0] == ":":
                end = words[-1][1]
                kept[number] = line[:end] + " pass" + line[end:]
                return True
            if words and number < at:
                break
        return False

    @staticmethod
    def _blank(line, closed=False):
        """Return a line that does nothing, at the indentation of `line`."""
        indent = re.match(r"[ \t]*", line)[0]
        word = indent + ("if 1:" if line.rstrip().endswith(":") and not closed else "pass")
        size = len(line.replace("\n", ""))
        return (word + " #" * (size > len(word) + 1)).ljust(size) + "\n" * line.count("\n")

    def _flat(self, lines):
        """Return a tree of the lines that are Python, one by one, without blocks."""
        body, number = [], 1
        for line in lines:
            code = line.strip()
            tree = None
            words = ("=", "import", "def", "class", "with")
            if any(word in line for word in words) or triggers(line):
                tail = "\ndef f(): pass" if code[:1] == "@" else " pass"
                tree = parses(code) or parses(code + tail)
            if tree:
                ahead = len(line) - len(line.lstrip())
                extra = line[:ahead].count("\n")
                column = ahead - (line.rfind("\n", 0, ahead) + 1)
                for node in ast.walk(tree):
                    for name in ("", "end_"):
                        at = getattr(node, name + "col_offset", None)  # Brython's have lines alone
                        if at is not None and getattr(node, name + "lineno") == 1:
                            setattr(node, name + "col_offset", at + column)
                ast.increment_lineno(tree, number - 1 + extra)
                body += tree.body
            number += line.count("\n")
        return ast.Module(body=body, type_ignores=[])

    def offset(self, node):
        """Return where `node` stands in the text."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node):
        """Return where `node` ends; before Python 3.8, nobody knows."""
        line = getattr(node, "end_lineno", None)
        return None if line is None else self._offset(line, node.end_col_offset)

    def _offset(self, line, column):
        """Return the place of a line and a column; the parser counts bytes."""
        if line > len(self.starts):
            return len(self.text)
        start = self.starts[line - 1]
        ahead = self.text[start : start + column]
        if ahead.isascii() if hasattr(ahead, "isascii") else len(ahead.encode()) == len(ahead):
            return start + column
        return start + len(ahead.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))

    def place(self, offset):
        """Return line and column of an offset."""
        return place_in(self.starts, offset)
