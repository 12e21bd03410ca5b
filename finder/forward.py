"""The forward pass: which statements lead from the sources of a call to its target."""

import ast
import re
from collections import namedtuple

from .names import last_name

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
FAR = 300  # so many statements may stand in a block, or a long file takes too long
ENDS = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.ClassDef, ast.Delete)
ENDS += (ast.Global, ast.Nonlocal)
# A tape sees nothing of what is computed by the first, and not what variables held before the last.
AWAY = re.compile(r"(?:run|experimental_run_v2|eval|numpy|exec|assign\w*|scatter\w*)$")


class Block(namedtuple("Block", "statements place around outermost")):
    """The statements among which a call stands, and its place in them.

    `around` is the function around them, or the tree, or None if that is not sure; `outermost`
    are the nodes of the outermost function.
    """

    def to_record(self, first):
        """Return the statements from `first` to before the call."""
        return self.statements[first : self.place]


def block_at(tree, node):
    """Return the block in which `node` stands."""
    around = outermost = tree
    block = tree.body
    while True:
        place, end = 0, len(block)
        while end - place > 1:  # bisect takes no key before Python 3.10
            middle = (place + end) // 2
            place, end = (middle, end) if block[middle].lineno <= node.lineno else (place, middle)
        statement = block[place]
        inner = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
        inner += [handler.body for handler in getattr(statement, "handlers", [])]
        inner = [one for one in inner if isinstance(one, list) and one[:1]]
        inner = [one for one in inner if one[0].lineno <= node.lineno]
        if not inner:
            return Block(block, place, around, ast.walk(outermost))
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            around = statement
            outermost = statement if outermost is tree else outermost
        if type(statement).__name__ in ("Try", "TryStar"):
            return Block(block, place, None, [])  # what fails may be expected to
        block = max(inner, key=lambda one: one[0].lineno)


def is_number(node):
    """Tell whether an expression is arithmetic: lists can only be added, or repeated."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        return is_number(node.left) or is_number(node.right)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Sub, ast.Div, ast.Pow, ast.MatMult))
    return isinstance(getattr(node, "value", getattr(node, "n", None)), float)


def asks_by_name(node):
    """Tell whether a node is the name of what asks for gradients."""
    name = getattr(node, "attr", getattr(node, "id", None))
    return name in ("gradients", "jacobian", "batch_jacobian", "hessians")


def own_nodes(statements):
    """Yield the nodes of statements, but not those of functions in them."""
    stack = list(statements)
    while stack:
        one = stack.pop()
        yield one
        if not isinstance(one, FUNCTIONS):
            stack += ast.iter_child_nodes(one)


def reads(statement):
    """Return the names that a statement reads."""
    names = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Load)}


def binds(node):
    """Return each name that is bound anywhere in a node, as often as it is."""
    found = []
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.append(one.id)
        elif isinstance(one, ast.arg):
            found.append(one.arg)
        elif isinstance(one, ast.alias):
            found.append((one.asname or one.name).split(".")[0])
        elif isinstance(one, (ast.Global, ast.Nonlocal)):
            found += one.names * 2
        elif one is not node and isinstance(getattr(one, "name", None), str):
            found.append(one.name)  # functions, classes, exceptions, patterns
    return found


def first_to_record(block, target, sources):
    """Return the number of the first statement that can lead from sources to a target, or None.

    The sources are made in `block`, one behind the other, and nowhere else in the function
    around; so what depends on them comes after that, up to the call.
    """
    around, before = block.around, block.to_record(0)
    if around is None or isinstance(around, ast.ClassDef):
        return None
    if not is_plain(block.statements[block.place]) or max(block.place, len(around.body)) > FAR:
        return None
    born = {}
    for number, one in enumerate(before):
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            born[getattr(one.targets[0], "id", "")] = number
    places = [born.get(name, -1) for name in sources]
    first, bound = max(places) + 1, binds(around)
    inside = before[first:]
    early = set().union(*map(reads, before[:first]), *map(nested, around.body))
    if (
        min(places) < 0
        or max(places) - min(places) + 1 != len(set(sources))
        or any(bound.count(name) != 1 for name in sources)
        or early & set(sources)
        or not set().union(*map(reads, inside)) & set(sources)
        or target not in set().union(*map(binds, inside))
        or leaves(inside)
    ):
        return None
    return first


def is_plain(call):
    """Tell whether the call in a statement is computed once, where it stands."""
    loops = "Lambda ListComp SetComp DictComp GeneratorExp IfExp NamedExpr".split()
    simple = isinstance(call, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return))
    return simple and not any(type(one).__name__ in loops for one in ast.walk(call))


def nested(statement):
    """Return the names that functions in a statement read."""
    found = (one for one in ast.walk(statement) if isinstance(one, FUNCTIONS))
    return set().union(*map(reads, found))


def leaves(inside):
    """Tell whether statements leave the block, or TensorFlow."""
    for one in inside:
        for part in ast.walk(one):
            called = last_name(part.func) if isinstance(part, ast.Call) else ""
            if AWAY.match(called) or getattr(part, "decorator_list", []):
                return True
    return any(isinstance(part, ENDS) for part in own_nodes(inside))
