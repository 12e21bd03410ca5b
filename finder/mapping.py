"""Join what the finder looks for with what the pages say of it.

rules.json holds how a call is recognised, and the key of the row that tells its verdict: `row` of
a rule, and each value of its `arguments`. What no row tells, such as a trap, has its own verdict.
`rows` adds to a row what a finding says besides, and `unfound` lists those that no rule finds.
"""

import json
from pathlib import Path

from pages.calls import VERDICTS, calls_by_key
from pages.parameters import OF

HERE = Path(__file__).parent
EMPTY = {"names": [], "methods": [], "parameters": [], "arguments": {}}
OWN = {"verdict", "write", "page"}


def named_rows(rule):
    """Return the keys of the rows that a rule names, each with what names it."""
    named = {rule["id"]: rule.get("row")}
    named |= {f"{name} of {rule['id']}": key for name, key in rule.get("arguments", {}).items()}
    return [(by, key) for by, key in named.items() if isinstance(key, str)]


def misfits(rules, calls):
    """Return what does not fit between rules.json and the rows of the pages."""
    named = [one for rule in rules["rules"] for one in named_rows(rule)]
    listed = [(part, key) for part in ("rows", "unfound") for key in rules[part]]
    found, unfound = {key for _, key in named}, set(rules["unfound"])
    return [
        *(
            f"finder/rules.json: {by} names the row {key}, which no table has: write the first "
            "cell of the row, behind what its table is of and a colon"
            for by, key in [*named, *listed]
            if key not in calls
        ),
        *(
            f"finder/rules.json: {rule['id']} has no row: name one, or give it a "
            "verdict, write and page of its own"
            for rule in rules["rules"]
            if "row" not in rule and not rule.keys() >= OWN
        ),
        *(
            f"docs/{call.page}: no rule names the row {key}: name it in finder/rules.json, in a "
            "rule that finds it, or under unfound"
            for key, call in calls.items()
            if key not in found | unfound
        ),
        *(
            f"finder/rules.json: a rule names {key}: take it from unfound"
            for key in sorted(found & unfound)
        ),
    ]


def page_address(page):
    """Return the address of a page below that of the site."""
    return page.removesuffix("index.md") if page.endswith("index.md") else page[:-3] + "/"


def fate(call, besides):
    """Return what the mapping says of a row, with what a finding says besides."""
    if call.of == OF:
        row = {"parameter": call.old.strip("`")}
    else:
        row = {"row": {"page": call.page, "of": call.of, "old": call.old}}
    told = {"verdict": call.verdict, "write": call.write, "page": page_address(call.settled)}
    return told | row | besides


def joined(rules=None, calls=None):
    """Return the mapping that the finder reads, whose form rules.schema.json describes.

    `rules` and `calls` are what rules.json holds and the rows of the pages, unless given.

    Raises:
        ValueError: A rule names a row that there is not, no rule names a row, or a table on a page
            is not whole. The message says where, and what to do.
    """
    rules = rules or json.loads((HERE / "rules.json").read_text("utf-8"))
    calls = calls or calls_by_key()
    wrong = misfits(rules, calls)
    if wrong:
        raise ValueError("\n".join(wrong))
    fates = {key: fate(call, rules["rows"].get(key, {})) for key, call in calls.items()}

    def whole(rule):
        row = fates[rule["row"]] if "row" in rule else {}
        own = EMPTY | {field: value for field, value in rule.items() if field != "row"}
        arguments = own["arguments"].items()
        own["arguments"] = {n: fates[one] if isinstance(one, str) else one for n, one in arguments}
        return row | own

    found = [whole(rule) for rule in rules["rules"]]
    rows = [fates[key] for key in rules["unfound"]]
    return {"$schema": "rules.schema.json", "rules": found, "rows": rows}


def schema():
    """Return the form of the mapping, with what the verdicts mean."""
    form = json.loads((HERE / "rules.schema.json").read_text("utf-8"))
    means = (f"{verdict}: {means}." for verdict, means in VERDICTS.items())
    form["$defs"]["verdict"] = {"description": " ".join(means), "enum": list(VERDICTS)}
    return form
