"""Findings: what is said of each old call."""

import re
from collections import namedtuple

from .arguments import has_effect
from .patch import patched_call
from .reading import Edit
from .replacement import is_none, notes_on_call, notes_on_replacement, replacement
from .rules import BASE


class Argument(namedtuple("Argument", "name value verdict write page says silent")):
    """What became of an argument that is passed."""

    def as_json(self):
        """Return it as a dictionary."""
        return {name: one for name, one in self._asdict().items() if one or name == "value"}


FINDING_FIELDS = (
    "path line column code rule call verdict arguments write replacement hunk notes page certainty "
    "silent steps trap works how edits cell cell_line"
)


class Finding(namedtuple("Finding", FINDING_FIELDS, defaults=((), None, None))):
    """Something old, or a trap: where it stands, what became of it, and what to write."""

    def as_json(self):
        """Return it as a dictionary; only in a notebook it has a cell."""
        fields = dict(self._asdict(), hunk=str(self.hunk or ""))
        fields["arguments"] = [one.as_json() for one in self.arguments]
        left_out = {"edits"} | ({"cell", "cell_line"} if self.cell is None else set())
        return {name: one for name, one in fields.items() if name not in left_out}


def rule_finding(code, rule, place, call, **more):
    """Return a finding of a rule, of which nothing else is known but what `more` has."""
    says = [rule.says] if rule.says else []
    likely = dict(arguments=[], replacement="", hunk=None, notes=says, certainty="likely")
    likely.update(path=code.path, call=call, works="", how="words", **place._asdict())
    told = dict(verdict=rule.verdict, write=rule.write, page=BASE + rule.page, trap=rule.trap)
    told.update(code=rule.number, rule=rule.id, silent=rule.silent, steps=rule.steps)
    return Finding(**{**told, **likely, **more})


def finding_of(code, asked):
    """Return the finding on something old that was parsed."""
    rule, source = asked.rule, code.source
    place = source.place(asked.start)
    if place.line != source.place(asked.name).line:  # a method on a line of its own
        place = source.place(asked.name)
    call = " ".join(source.text[asked.start : min(asked.end, asked.start + 2000)].split())
    arguments, whole = argument_fates(code, asked), asked
    given = {name: one for name, one in asked.given.items() if not is_none(one.node)}
    asked = asked._replace(given=given)  # None is what stands there if nothing does
    write = replacement(code, asked) if rule.code else ""
    patch = patched_call(code, asked) if write else None
    notes = notes_on_call(code, asked, patch and patch.code != write)
    write, hunk = patch or (write, None)
    certain = asked.certain and source.how != "words"
    return rule_finding(
        *(code, rule, place, call if len(call) < 200 else call[:199] + "…"),
        arguments=arguments,
        replacement=write,
        hunk=hunk,
        notes=notes.texts + (notes_on_replacement(code, asked, write, hunk) if write else []),
        certainty="certain" if certain else "likely",
        page=BASE + (notes.page or rule.page),
        silent=rule.silent or notes.silent or any(a.silent for a in arguments if a.name in given),
        works=code.works(asked),
        how=source.how or "parsed",
        edits=list(edits(code, whole)) if asked.certain and not source.how else [],
    )


def argument_fates(code, asked):
    """Return what became of each argument that is passed."""
    found = []
    for name, passed in asked.given.items():
        fates, key = asked.rule.arguments, name
        if name == "loss" and "loss function" in fates:
            if code.is_function(passed.node, asked.site.scope):
                key = "loss function"
        if key in fates:
            fate = fates[key]._replace(page=BASE + fates[key].page)
            found.append(Argument(name, passed.text, *fate))
    return found


def edits(code, asked):
    """Yield what `--fix` changes of a call."""
    text, rule = code.source.text, asked.rule
    eaten = -1  # where a drop ended that took the comma behind it
    for name, (_, passed, span) in asked.given.items():
        if not span or span.start is None or span.name != name:
            continue
        method = getattr(asked.site.node.func, "attr", "")
        new = rule.rename.get(f"{method}.{name}", rule.rename.get(name))
        if new and new not in asked.given:
            yield Edit(span.first, span.first + len(name), new)
        elif name in rule.drop and not has_effect(passed):
            first = span.comma is None or text[span.comma + 1 : span.first].strip()  # or a comment
            if first or span.comma < eaten:
                eaten = re.compile(r"(?:[ \t]*,[ \t]*)?").match(text, span.end).end()
                yield Edit(span.first, eaten, "")
            else:
                yield Edit(span.comma, span.end, "")
