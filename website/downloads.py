"""Publish the finder of old gradient code, and what runs it in a browser.

Brython, a package, is Python in JavaScript. Of its standard library, only what the finder
imports is published: the whole is 5 MB.
"""

import json
import re
from importlib.util import find_spec
from pathlib import Path

from finder.bundle import bundle
from finder.mapping import joined, schema

# What Brython imports for the finder; the site's test fails where it asks for another one.
MODULES = (
    "ast _ast _ast_unparse bisect json _json json.encoder re python_re enum sys types keyword "
    "warnings operator functools collections contextlib abc _weakref _collections_abc _collections "
    "_py_abc _weakrefset itertools reprlib _thread"
).split()


def finder_and_brython(config):
    """Return the finder, its mapping and Brython as files: {path: what it holds}.

    Raises:
        ValueError: Rules and the tables of the pages do not fit.
    """
    data = Path(find_spec("brython").origin).parent / "data"
    library = (data / "brython_stdlib.js").read_text("utf-8")
    modules, _ = json.JSONDecoder().raw_decode(library, re.search(r"scripts = ", library).end())
    wanted = {name: modules[name] for name in MODULES}
    return {
        "start/find_gradients.py": bundle(config.site_url or ""),
        "start/rules.json": json.dumps(joined(), indent=1, ensure_ascii=False) + "\n",
        "start/rules.schema.json": json.dumps(schema(), indent=1) + "\n",
        "assets/brython.js": (data / "brython.js").read_text("utf-8"),
        "assets/brython-modules.js": "__BRYTHON__.use_VFS = true;\n"
        f"__BRYTHON__.update_VFS({json.dumps(wanted)});\n",
    }
