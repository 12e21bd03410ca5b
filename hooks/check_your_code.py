"""Publish the finder of old gradient code, and what runs it in a browser.

Brython, a package, is Python in JavaScript. Of its standard library, only what the finder
imports is published: the whole is 5 MB.
"""

import json
import re
from importlib.util import find_spec
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from finder.bundle import bundle
from finder.mapping import joined, schema

# What Brython imports for the finder; the site's test fails where it asks for another one.
MODULES = (
    "ast _ast _ast_unparse bisect json _json json.encoder re python_re enum sys types keyword "
    "warnings operator functools collections contextlib abc _weakref _collections_abc _collections "
    "_py_abc _weakrefset itertools reprlib _thread"
).split()


def on_files(files, config):
    """Add the finder, its mapping and Brython to the site.

    Raises:
        PluginError: Rules and the tables of the pages do not fit. The site is not built.
    """
    data = Path(find_spec("brython").origin).parent / "data"
    library = (data / "brython_stdlib.js").read_text("utf-8")
    modules, _ = json.JSONDecoder().raw_decode(library, re.search(r"scripts = ", library).end())
    wanted = {name: modules[name] for name in MODULES}
    try:
        finder = bundle(config.site_url or "")
    except ValueError as error:
        raise PluginError(str(error)) from None
    for path, content in {
        "start/find_gradients.py": finder,
        "start/rules.json": json.dumps(joined(), indent=1, ensure_ascii=False) + "\n",
        "start/rules.schema.json": json.dumps(schema(), indent=1) + "\n",
        "assets/brython.js": (data / "brython.js").read_text("utf-8"),
        "assets/brython-modules.js": "__BRYTHON__.use_VFS = true;\n"
        f"__BRYTHON__.update_VFS({json.dumps(wanted)});\n",
    }.items():
        files.append(File.generated(config, path, content=content))
