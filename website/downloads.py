"""Publish the verdicts as data, the files that readers run, and what runs one in a browser.

Brython, a package, is Python in JavaScript. Of its standard library, only what the finder
imports is published: the whole is 5 MB.
"""

import json
from importlib import resources

from checks import ROOT
from finder.bundle import bundle
from finder.mapping import joined, schema
from releases.data import stored

# What Brython imports for the finder; the site's test fails where it asks for another one.
MODULES = (
    "ast _ast _ast_unparse bisect json _json json.encoder re python_re enum sys types keyword "
    "warnings operator functools collections contextlib abc _weakref _collections_abc _collections "
    "_py_abc _weakrefset itertools reprlib _thread"
).split()


def as_json(data):
    """Return data as a file holds it."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def files_to_publish(site):
    """Return verdicts, both tools, the mapping and Brython as files: {path: what it holds}.

    Raises:
        ValueError: Rules and the tables of the pages do not fit, or the rooms of a tool.
    """
    data = resources.files("brython") / "data"
    library = (data / "brython_stdlib.js").read_text("utf-8")
    modules, _ = json.JSONDecoder().raw_decode(library.partition("scripts = ")[2])
    wanted = {name: modules[name] for name in MODULES}
    shown = "of", "old", "verdict", "write", "page"
    calls = [{name: getattr(call, name) for name in shown} for call in site.calls.values()]
    return {
        "old-api/calls.json": as_json(calls),
        "evidence/releases.json": json.dumps(stored(), ensure_ascii=False),
        "parameters/parameters.json": as_json([one._asdict() for one in site.nine]),
        "start/find_gradients.py": bundle(site.config.site_url or ""),
        "start/prove_gradients.py": bundle(site.config.site_url or "", ROOT / "prover"),
        "start/rules.json": as_json(joined()),
        "start/rules.schema.json": as_json(schema()),
        "assets/brython.js": (data / "brython.js").read_text("utf-8"),
        "assets/brython-modules.js": "__BRYTHON__.use_VFS = true;\n"
        f"__BRYTHON__.update_VFS({json.dumps(wanted)});\n",
    }
