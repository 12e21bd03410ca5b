"""Reports: findings for a terminal, for code hosts, and for a GitHub workflow."""

import json
import sys
from collections import Counter

from .choice import path_from_here
from .rules import BASE, VERDICTS, VERSION


def to_do(found):
    """Tell whether a finding asks the reader to change something."""
    changes = any(fate.verdict != "same" for fate in (found, *found.arguments))
    return changes or found.silent or found.steps or found.trap


def to_look_up(found):
    """Return the arguments for which another word is not enough."""
    return [one for one in found.arguments if one.verdict not in ("renamed", "same")]


def unmarked(text):
    """Return text without the marks of Markdown."""
    return text.replace("`", "")


def as_text(findings, colour):
    """Return the findings for a terminal."""

    def dye(code, text):
        return f"\033[{code}m{text}\033[0m" if colour else text

    hues = {"lost": "31", "recipe": "33", "gone": "36", "renamed": "34", "same": "32"}
    lines = []
    for found, *others in alike(findings):
        verdict = "trap" if found.trap else found.verdict
        marks = [found.certainty] + ["SILENT"] * found.silent + ["OTHER STEPS"] * found.steps
        where = f"{found.path}:{found.line}:{found.column}"
        if found.cell is not None:
            where += f" (cell {found.cell}, line {found.cell_line})"
        same = (f"{one.path}:{one.line}:{one.column}" for one in others)
        heads = [dye("1", where), found.code, dye(hues[found.verdict], verdict), ", ".join(marks)]
        lines += ["  ".join(heads), "    " + found.call]
        lines += [f"    and the same at: {', '.join(same)}"] * bool(others)
        lines.append("    write: " + (found.replacement or unmarked(found.write)))
        lines += ["      " + line for line in str(found.hunk or "").split("\n") if line]
        for one in found.arguments:
            says = [dye(hues[one.verdict], one.verdict), unmarked(one.write)]
            says += [one.says] if one.says else []
            says += ["see " + one.page] if one in to_look_up(found) else []
            lines.append(f"      {one.name}: {'; '.join(says)}")
        lines += ["    note: " + unmarked(note) for note in found.notes]
        lines += ["    " + found.works] if found.works else []
        lines += ["    see: " + found.page, ""]
    return "\n".join(lines)


def alike(findings):
    """Return lists of findings of one file that differ by their place alone."""
    lists, nowhere = {}, dict(line=0, column=0, cell=None, cell_line=None, edits=())
    for found in findings:
        lists.setdefault(repr(found._replace(**nowhere)), []).append(found)
    return lists.values()


def counted_verdicts(fates):
    """Return how many of each verdict there are, the worst first."""
    verdicts = [fate.verdict for fate in fates]
    return ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts)


def statistics(findings):
    """Return how often each code was found."""
    counts = Counter((found.code, found.rule) for found in findings)
    lines = (f"{count:>6}  {code}  {rule}" for (code, rule), count in sorted(counts.items()))
    return "\n".join(lines)


def summary(findings, count, unread=0, known=0):
    """Return the last lines: how many of what, and where to start."""
    lines = [f"{count - unread} files read: {counted_verdicts(findings) or 'nothing'} found."]
    lines += [f"{unread} could not be read: see above."] if unread else []
    lines += [f"{known} more are in the baseline."] if known else []
    passed = counted_verdicts(one for found in findings for one in to_look_up(found))
    lines += [f"Of their arguments: {passed}."] if passed else []
    for says, which in (
        ("{} change without a message (SILENT): look at these first.", "silent"),
        ("{} may train on in OTHER STEPS: the optimizer's page says which do not.", "steps"),
        ("Where it says that a call still works, you may leave it for now.", "works"),
    ):
        many = sum(bool(getattr(found, which)) for found in findings)
        lines += [says.format(many)] * bool(many)
    return "\n".join(lines)


def one_line(found):
    """Return a finding in one line."""
    head = f"{found.call}: {found.verdict}"
    more = [f"{one.name}: {one.verdict}, {unmarked(one.write)}" for one in to_look_up(found)]
    write = "write " + (found.replacement or unmarked(found.write))
    return "; ".join([head, write, *more, *found.notes])


def as_sarif(findings):
    """Return the findings as a SARIF 2.1.0 document."""
    import os
    from urllib.parse import quote

    rules, results = {}, []
    for found in findings:
        rule = {"id": found.code, "name": found.rule}
        rule["shortDescription"] = {"text": unmarked(found.write)}
        rules[found.code] = {**rule, "help": {"text": "See " + found.page}}
        if found.page.startswith("http"):
            rules[found.code]["helpUri"] = found.page
        level = "warning" if to_do(found) else "note"
        address = quote(os.fsencode(path_from_here(found.path)))
        region = {"startLine": found.line, "startColumn": found.column}
        place = {"artifactLocation": {"uri": address}, "region": region}
        result = {"ruleId": found.code, "level": level, "message": {"text": one_line(found)}}
        result["locations"] = [{"physicalLocation": place}]
        keys = ("verdict", "certainty", "silent", "steps", "works", "page")
        results.append({**result, "properties": {key: getattr(found, key) for key in keys}})
    driver = {"name": "find_gradients", "rules": list(rules.values())}
    known = {"version": VERSION, "informationUri": BASE}
    driver.update((key, value) for key, value in known.items() if value)
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def as_github(findings):
    """Return the findings as annotations of a GitHub workflow."""
    lines, marks = [], {"%": "%25", "\r": "%0D", "\n": "%0A"}
    texts, paths = str.maketrans(marks), str.maketrans({**marks, ",": "%2C", ":": "%3A"})
    for found in findings:
        kind = "warning" if to_do(found) else "notice"
        text = f"{one_line(found)} {found.page}".translate(texts)
        path = path_from_here(found.path).translate(paths)
        place = f"file={path},line={found.line},col={found.column},title={found.code} {found.rule}"
        lines.append(f"::{kind} {place}::{text}")
    return "\n".join(lines)


def print_report(asked, findings, count, unread=0, known=0):
    """Print the findings in `count` files as asked for.

    Args:
        asked: The options.
        findings: What was found.
        count: Of how many files.
        unread: How many of them, or of folders, could not be read.
        known: How many findings a baseline has left out.
    """
    if asked.format == "json":
        listed = [found.as_json() for found in findings]
        print(json.dumps({"findings": listed, "files": count, "unread": unread}, indent=1))
    elif asked.format == "sarif":
        print(json.dumps(as_sarif(findings), indent=1))
    elif asked.format == "github":
        print(as_github(findings))
    elif asked.statistics:
        print(statistics(findings))
    elif not asked.diff:
        if findings:
            print(as_text(findings, sys.stdout.isatty()))
        print(summary(findings, count, unread, known))
