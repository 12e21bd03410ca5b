"""Tokens, read by one regular expression, which takes broken code, too."""

import re
from collections import namedtuple

TOKEN = re.compile(
    r'''(?P<string>[rRbBuUfFtT]{0,2}(?:"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'''
    r"""|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"""
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'))"""
    r"""|(?P<comment>\#[^\n]*)|(?P<name>[^\W\d]\w*)|(?P<number>\d[\w.]*)"""
    r"""|(?P<newline>\n)|(?P<space>(?:[ \t\f\r]|\\\r?\n)+)|(?P<op>.)""",
    re.S,
)
MAGIC = re.compile(r"^[^\S\n]*(?:[%!?]|[\w.]+\?+[^\S\n]*$)[^\n]*", re.M)


class Span(namedtuple("Span", "name first start end comma")):
    """The places of an argument in the text: its first word, its value, the comma before it.

    `name` is that of a keyword, its stars, or empty.
    """


class CallText(namedtuple("CallText", "start name spans")):
    """The places of a call and of its name, and its arguments, or None where they are not clear."""


# The page reads tokens in JavaScript, where they are arrays: so they stay without names here.
def scan(text, start=0, stop=None):
    """Yield kind, text, start and end of each token."""
    for found in TOKEN.finditer(text, start, len(text) if stop is None else stop):
        yield found.lastgroup, found[0], found.start(), found.end()


def tokens(text, start=0, stop=None):
    """Return those that are neither space nor comment."""
    return (one for one in scan(text, start, stop) if one[0] not in ("space", "comment"))


def call_at(text, start, before, stop):
    """Return the text of a call whose expression is at `start`.

    `before` calls stand in the expression before its own bracket, which closes at `stop` at the
    latest.
    """
    depth, name, seen, last = 0, start, before, ""
    for kind, word, at, end in tokens(text, start, stop):
        if kind == "op" and word in "([{":
            if depth == 0 and word == "(" and last:
                if not seen:
                    return CallText(start, name, argument_spans(text, end, stop))
                seen -= 1
            depth += 1
        elif kind == "op" and word in ")]}":
            depth -= 1
            last = word
            if depth < 0:
                break
        elif depth == 0 and kind == "name":
            name, last = at, word
        elif depth == 0 and kind != "newline" and word not in ".@" and kind != "string":
            break
    ahead = "" if stop else text[:start].rstrip()
    if ahead.endswith("("):  # Python 3.7 begins a call behind the bracket around its first part
        return call_at(text, len(ahead) - 1, before, stop)
    return CallText(start, start, None)


def argument_spans(text, start, stop):
    """Return the arguments of a call whose bracket opened just before `start`, or None."""
    found, depth, lambdas, comma = [], 0, 0, None
    words, first, begin, last = [], None, None, start
    for kind, word, at, end in tokens(text, start, stop):
        if kind == "newline":
            continue
        if depth == 0 and (word == ")" or (word == "," and not lambdas)):
            if words:
                named = words[0] in ("*", "**") or words[1:2] == ["="]
                found.append(Span(words[0] if named else "", first, begin, last, comma))
            if word == ")":
                return found
            words, first, comma = [], None, at
            continue
        if kind == "op" and word in "([{":
            depth += 1
        elif kind == "op" and word in ")]}":
            depth -= 1
        elif depth == 0 and word == "lambda":
            lambdas += 1
        elif depth == 0 and word == ":" and lambdas:
            lambdas -= 1
        if first is None:
            first = begin = at
        if words == ["*"] and word == "*":
            words = ["**"]
        elif len(words) < 3:
            words.append(word)
            if words[1:] == ["=", "="]:
                words, begin = [words[0], "==", ""], first
        if words in (["*"], ["**"]) or words[1:] == ["="]:
            begin = end
        last = end
    return None


def value_text(text, span):
    """Return the expression of an argument on one line, without comments."""
    code, before, last = "", "", 0
    for kind, word, start, stop in tokens(text[span.start : span.end]):
        if kind != "newline":
            if start > last and before not in ("", "(", "[") and word not in (")", "]", ","):
                code += " "
            code, before, last = code + word, word, stop
    return code


def logical_lines(text, words):
    """Yield start and end of each logical line, brackets and strings closed."""
    start = depth = 0
    for kind, word, _, end in words:
        if kind == "op" and word in "([{":
            depth += 1
        elif kind == "op" and word in ")]}":
            depth = max(0, depth - 1)
        elif kind == "newline" and not depth:
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def magics(text):
    """Yield start and end of each command of IPython: a line that continues no other."""
    at = 0
    while at is not None:
        command = MAGIC.match(text, at)
        if command:
            yield command.span()
            at = command.end() + 1
        elif MAGIC.search(text, at):
            lines = (end for _, end in logical_lines(text, tokens(text, at)))
            at = next((end for end in lines if MAGIC.match(text, end)), None)
        else:
            at = None


def is_deep(words):
    """Tell whether a line nests or chains so much that the parser itself may fail."""
    depth = worst = chain = 0
    for kind, word, _, _ in words:
        if kind == "op":
            if word in "([{":
                depth += 1
                worst = max(worst, depth)
            elif word in ")]}":
                depth -= 1
            elif word in ",;":
                chain = 0
            else:
                chain += 1
                worst = max(worst, chain // 10)
        elif kind == "newline" and depth <= 0:
            depth = chain = 0
    return worst > 90


def line_starts(text):
    """Return where each line of a text starts."""
    starts = [0]
    for line in text.split("\n")[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return starts
