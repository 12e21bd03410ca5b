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
NEST = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}
MAGIC = re.compile(
    r"(?m)^[^\S\n]*(?:[%!?]|[\w.]+\?+[^\S\n]*$"
    r"|\w[\w., ]*(?:\[(?:[\w., ]*|'[^'\n]*'|\"[^\"\n]*\")\][\w., ]*)*= *[%!])(?:.*\\\n)*.*"
)


class ArgumentSpan(namedtuple("ArgumentSpan", "name first start end comma")):
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
    found, own, depth, lambdas, comma = [], [], 0, 0, None
    for token in tokens(text, start, stop):
        kind, word, at, _ = token
        if depth == 0 and (word == ")" or (word == "," and not lambdas)):
            found += [span_of(own, comma)] if own else []
            if word == ")":
                return found
            own, comma = [], at
        elif kind != "newline":
            depth += NEST.get(word, 0)
            if depth == 0:
                lambdas += (word in ("lambda", "for")) - (word in (":", "in") and lambdas > 0)
            own.append(token)
    return None


def span_of(own, comma):
    """Return the places of an argument, from its tokens."""
    words = [one[1] for one in own[:3]]
    name = "".join(word for word in words[:2] if word == "*") if words[0] == "*" else ""
    begin = own[len(name) - 1][3] if name else own[0][2]
    if words[1:2] == ["="] and words[2:] != ["="]:
        name, begin = words[0], own[1][3]
    return ArgumentSpan(name, own[0][2], begin, own[-1][3], comma)


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
        depth = max(0, depth + NEST.get(word, 0))
        if kind == "newline" and not depth:
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def magics(text):
    """Yield start and end of each command of IPython: lines that continue no other."""
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
        depth += NEST.get(word, 0)
        if kind == "newline" and depth <= 0:
            depth = chain = 0
        elif kind == "op" and word not in NEST:
            chain = 0 if word in ",;" else chain + 1
        worst = max(worst, depth, chain // 10)
    return worst > 90


def line_starts(text):
    """Return where each line of a text starts."""
    starts = [0]
    for line in text.split("\n")[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return starts
