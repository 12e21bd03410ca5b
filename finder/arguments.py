"""Arguments: what a call passes, by the names of the parameters, and where it stands."""

import ast
import re
from collections import namedtuple

from .names import string_of
from .tokens import ArgumentSpan, call_at, value_text


class Passed(namedtuple("Passed", "text node span", defaults=(None, None))):
    """An argument as it is passed: its text, and its node and places where they are clear."""


class Asked(namedtuple("Asked", "site rule start name end given certain")):
    """Something old: where it stands, what the mapping says of it, and what it is given.

    `start`, `name` and `end` are the places of the expression, of its last name, and of its end.
    """

    def first_of(self, *names):
        """Return the first argument that is passed under one of the names, or None."""
        return next((self.given[name] for name in names if self.given.get(name)), None)


def named_at(code, site, rule, certain=True):
    """Return something old that is no call, or of which no argument matters."""
    if isinstance(site.node, ast.Call):
        return called_at(code, site, rule, certain)._replace(given={})
    start = code.source.offset(site.node)
    words = re.compile(r"\w+(?:\s*\.\s*\w+)*").match(code.source.text, start)
    return Asked(site, rule, start, start, words.end() if words else start, {}, certain)


def called_at(code, site, rule, certain=True, skip=0):
    """Return an old call; it passes `skip` arguments before those of the rule."""
    node, text = site.node, code.source.text
    before, inner = 0, node.func
    while isinstance(inner, (ast.Attribute, ast.Call, ast.Subscript)):
        before += isinstance(inner, ast.Call)
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    where = code.source.offset(node)
    start, name, spans = call_at(text, where, before, code.source.end(node))
    close = text.find(")", max([start] + [span.end for span in spans or ()]))
    end = close + 1 if close >= 0 else len(text)
    parameters = rule.parameters
    if rule.id == "get_updates" and len(node.args) == 3:  # Keras 1
        parameters = ["params", "constraints", "loss"]
    given, position = {}, -skip
    words = {word.arg: word.value for word in node.keywords if word.arg}
    for span in spans or bare_spans(node):
        value = "…" if span.start is None else value_text(text, span)
        if span.name == "**":
            given.update({**_spread(code, site, value), **given})
        elif span.name == "*":
            given["*" + value] = Passed(value)
            position += 100
        elif span.name:
            given[span.name] = Passed(value, words.get(span.name), span)
        else:
            if 0 <= position < len(parameters):
                one = node.args[position + skip : position + skip + 1] or [None]
                given[parameters[position]] = Passed(value, one[0], span)
            position += 1
    return Asked(site, rule, start, name, end, given, certain)


def has_effect(node):
    """Tell whether an expression may do more than have a value: then it cannot be left out."""
    kinds = ("Call", "Await", "NamedExpr", "Yield", "YieldFrom")
    return any(type(one).__name__ in kinds for one in ast.walk(node or ast.Pass()))


def bare_spans(node):
    """Return the arguments of a call without their places, where the text was not understood."""
    names = ["*" if isinstance(one, ast.Starred) else "" for one in node.args]
    names += [word.arg or "**" for word in node.keywords]
    return [ArgumentSpan(name, None, None, 0, None) for name in names]


def _spread(code, site, value):
    """Return what two stars pass, whose text is `value`; perhaps more than is visible."""
    spread = [word.value for word in site.node.keywords if word.arg is None]
    keys = [key for one in spread for key in dict_keys(one, site.scope)]
    found = {key: Passed(f"{value}[{key!r}]") for key in keys}
    if not keys or any(_is_open(one, site.scope) for one in spread):
        found["**" + value] = Passed(value)
    return found


def _is_open(node, scope):
    """Tell whether a dict may hold more than the text shows: a function was given it."""
    bound = scope.bindings(node.id)[0] if isinstance(node, ast.Name) else []
    return any(one.kind == "value" and one.value is None for one in bound)


def dict_keys(node, scope, depth=0):
    """Return the keys of a dict behind two stars, as far as the text shows them."""
    keys = []
    if isinstance(node, ast.Dict):
        keys = [string_of(key) for key in node.keys if key is not None]
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
        keys = [word.arg for word in node.keywords]
    elif isinstance(node, ast.Name) and depth < 4:
        bound, where = scope.bindings(node.id)
        for one in bound:
            if one.kind == "value" and one.value is not None:
                keys += dict_keys(one.value, one.scope, depth + 1)
        keys += where.items.get(node.id, []) if where else []
    return [key for key in dict.fromkeys(keys) if key]


def keywords_of(site):
    """Return the names of the keywords of a call, those in a dict too."""
    words = {word.arg for word in site.node.keywords if word.arg}
    for word in site.node.keywords:
        if word.arg is None:
            words |= set(dict_keys(word.value, site.scope))
    return words
