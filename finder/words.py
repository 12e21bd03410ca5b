"""What is not Python at all: names before brackets."""

import re

from .findings import Finding
from .reading import place_in
from .rules import BASE, HINT, METHODS, OLD_WORDS
from .tokens import line_starts, scan

CHAIN = re.compile(r"((?:\)\s*\.\s*)?[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)\s*(\(?)")


def findings_by_words(code):
    """Yield what is found in the parts of a text that are left out of its tree."""
    text = code.source.original
    starts = line_starts(text)
    for start, stop in code.source.left:
        bare = list(text[start:stop])
        for kind, word, at, end in scan(text[start:stop]):
            if kind in ("string", "comment"):
                bare[at:end] = re.sub(r"[^\n]", " ", word)
        for found in CHAIN.finditer("".join(bare)):
            path = re.sub(r"\s", "", found[1])
            if path[0] == ")":  # a method of what a call gave
                path = ("optimizer" if "Optimizer(" in text[start:stop] else "it") + path[1:]
            rest = text[start + found.end() : stop][:2000]
            rule = found[2] and word_rule(code, path, rest)
            if rule:
                at = start + found.start() + found[1].rfind(path.rsplit(".", 1)[-1])
                call = text[at:stop].split("\n")[0].strip()[:100]
                yield likely_finding(code, rule, place_in(starts, at), call)


def word_rule(code, path, rest):
    """Return the rule for a dotted name in front of a bracket, which `rest` follows, or None."""
    first, _, tail = path.partition(".")
    for one in sorted(code.names.named(first, code.names.module)):
        rule = one.rule(tail)
        if rule:
            return rule
    receiver, _, method = path.rpartition(".")
    rules = METHODS.get(method, {}) if receiver else {}
    if "anything" in rules:
        return rules["anything"]
    old = any(re.search(rf"\b{word}\s*=", rest) for word in OLD_WORDS)
    hint = HINT.search(receiver.rsplit(".", 1)[-1]) and code.builds_graphs()
    return rules.get("optimizer") if old or hint else None


def likely_finding(code, rule, place, call):
    """Return a finding of which only the rule and the place are known."""
    return Finding(
        path=code.path,
        line=place.line,
        column=place.column,
        rule=rule.id,
        call=call,
        verdict=rule.verdict,
        arguments=[],
        write=rule.write,
        replacement="",
        hunk=None,
        notes=[rule.says] if rule.says else [],
        page=BASE + rule.page,
        certainty="likely",
        silent=rule.silent,
        trap=rule.trap,
        works="",
        how="words",
    )
