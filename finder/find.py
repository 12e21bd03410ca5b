"""Find: all findings in one text, by its tree, and by its words where it has none."""

import re

from .calls import all_asked
from .context import Code
from .findings import finding_of, rule_finding
from .notebooks import in_cell, notebook_lines
from .reading import place_in
from .replacement import inner_calls, page_of_task
from .rules import HINT, METHODS, OLD_WORDS, triggers
from .tokens import line_starts, scan

# What runs when the file is imported, and fails before all else.
CONTRIB = re.compile(
    r"(?m)^(?:import tensorflow\.contrib\b|from tensorflow(?:\.contrib\b| import .*\bcontrib\b)"
    r"|\w+ *= *tf\.contrib\b).*"
)
CHAIN = re.compile(r"((?:\)\s*\.\s*)?[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)\s*(\(?)")


def findings_in_code(text, path):
    """Return the findings in Python code, in the order of their lines."""
    code, found = Code(text, path), {}
    everything = list(all_asked(code))
    for asked in everything:
        inner = inner_calls(code, asked)
        if inner:
            code.outer[asked.site.node] = page = page_of_task(code, asked)
            code.inner.update(dict.fromkeys(inner, page))
    for asked in everything:
        one = finding_of(code, asked)
        found.setdefault((one.line, one.column, one.rule), one)
    everything = [*found.values(), *findings_by_words(code)]
    everything.sort(key=lambda one: (one.line, one.column))
    fails = "contrib" in text and CONTRIB.search(text)
    if fails and everything:
        note = f"this file fails first at `{fails[0].strip()}`: TensorFlow 2 has no tf.contrib"
        everything[0] = everything[0]._replace(notes=[note, *everything[0].notes])
    return everything


def findings(text, path=""):
    """Return the findings in the text of a file, in the order of their lines.

    Raises:
        ValueError: The text is that of a notebook that is none.
    """
    if not triggers(text):
        return []
    if not path.endswith(".ipynb"):
        return findings_in_code(text, path)
    try:
        lines = notebook_lines(text)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a notebook: {error!r}") from None
    code = "\n".join(line.code for line in lines) + "\n"
    return [in_cell(one, lines) for one in findings_in_code(code, path)]


def find(text, path=""):
    """Return the findings in the text of a file as dictionaries, as `--format json` prints them.

    Raises:
        ValueError: The text is that of a notebook that is none.
    """
    return [one.as_json() for one in findings(text, path)]


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
                yield rule_finding(code, rule, place_in(starts, at), call)


def word_rule(code, path, rest):
    """Return the rule for a dotted name in front of a bracket, which `rest` follows, or None."""
    first, _, tail = path.partition(".")
    for one in sorted(code.names.named(first, code.names.module)):
        rule = tail != "test.compute_gradient" and one.rule(tail)
        if rule:
            return rule
    receiver, _, method = path.rpartition(".")
    rules = METHODS.get(method, {}) if receiver else {}
    if "anything" in rules:
        return rules["anything"]
    old = any(re.search(rf"\b{word}\s*=", rest) for word in OLD_WORDS)
    hint = HINT.search(receiver.rsplit(".", 1)[-1]) and code.builds_graphs()
    return rules.get("optimizer") if old or hint else None
