"""Make the one file that readers download: all rooms of a package in one namespace.

The finder's holds the mapping, too.
"""

import ast
import builtins
import json
from collections import namedtuple
from pathlib import Path

import tomllib

from .held import held_mapping

HERE = Path(__file__).parent
FIRST = "__main__"  # its docstring is that of the file
INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAPPING = HERE / "held.py"  # in the file, what it gives stands instead of what makes it


class Room(namedtuple("Room", "name says needs imports defines code")):
    """A module of a package: what it needs of others and of Python, and its code without it."""


def bundle(base="", folder=HERE):
    """Return the text of find_gradients.py, or of another package's one file.

    Args:
        base: The address of the site.
        folder: That of the package.

    Raises:
        ValueError: The rooms do not fit into one namespace.
    """
    rooms = joined_rooms(folder, FIRST)
    misfits = list(clashes(folder, rooms))
    if misfits:
        raise ValueError("\n".join(misfits))
    imports = sorted({line for room in rooms for line in room.imports.values()})
    address = json.dumps(f"{base.rstrip('/')}/" if base else "")
    parts = [f'"""{rooms[-1].says}\n"""', "\n".join(imports), *(room.code for room in rooms)]
    parts.insert(-1, f"BASE = {address}  # the site that holds the pages")
    parts.insert(-1, f"VERSION = {json.dumps(project_version())}")
    text = "\n\n\n".join(parts) + "\n"
    ast.parse(text, feature_version=(3, 7))
    return text


def project_version():
    """Return the version of the project, which stands in pyproject.toml alone."""
    return tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def joined_rooms(folder, name, rooms=(), above=()):
    """Return `rooms`, then those that the room of a name needs, and it, each once."""
    if name in above:
        raise ValueError(f"{folder.name}/: {' needs '.join([*above, name])}")
    if any(room.name == name for room in rooms):
        return rooms
    room = room_of(folder, name)
    for one in room.needs:
        rooms = joined_rooms(folder, one, rooms, (*above, name))
    return (*rooms, room)


def room_of(folder, name):
    """Return the room of a name."""
    path = folder / f"{name}.py"
    source = mapping_source() if path == MAPPING else path.read_text("utf-8")
    tree = ast.parse(source)
    above = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    own = [one for one in above if getattr(one, "level", 0)]
    every = [one for one in ast.walk(tree) if getattr(one, "level", 0)]
    plain = all(one.level == 1 and one.module and not one.names[0].asname for one in own)
    if not plain or len(every) > len(own) or tree.body[1 : len(above) + 1] != above:
        raise ValueError(f"{folder.name}/{name}.py: write `from .room import name`, at its head")
    imports = {
        alias.asname or alias.name: ast.unparse(type(one)(**{**vars(one), "names": [alias]}))
        for one in above
        if one not in own
        for alias in one.names
    }
    defines = defined_names(tree)
    code = "\n".join(source.split("\n")[tree.body[len(above)].end_lineno :]).strip()
    needs = [one.module for one in own]
    return Room(name, ast.get_docstring(tree), needs, imports, defines, code)


def defined_names(tree):
    """Return the names that a module binds, and not its functions and comprehensions."""
    names, stack = set(), list(tree.body)
    while stack:
        one = stack.pop()
        if isinstance(one, (ast.FunctionDef, ast.ClassDef)):
            names.add(one.name)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            names.add(one.id)
        elif not isinstance(one, INNER):
            stack += ast.iter_child_nodes(one)
    return names


def mapping_source():
    """Return a module whose `held_mapping()` gives the mapping of today."""
    packed = json.dumps(held_mapping(), ensure_ascii=True, separators=(",", ":"))
    return f'"""Given."""\nimport json\ndef held_mapping():\n    return json.loads({packed!r})\n'


def clashes(folder, rooms):
    """Yield what would mean something else in one namespace, or is left out of it."""
    known = dict.fromkeys(dir(builtins), "Python's own")
    for room in rooms:
        own = dict.fromkeys(room.defines, f"that of {folder.name}/{room.name}.py")
        for name, origin in [*room.imports.items(), *own.items()]:
            if known.setdefault(name, origin) != origin:
                yield f"{name} is {known[name]}, and {origin}"
    if "BASE" not in known:
        yield "no room has BASE, the address of the site"
    needed = {*(room.name for room in rooms), "__init__", "bundle", "mapping", "wheel"}
    for path in folder.glob("*.py"):
        if path.stem not in needed:
            yield f"{folder.name}/{path.name}: no room needs it"
