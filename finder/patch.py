"""A tape around the forward pass, where all of it stands in the block of the call."""

import ast
import re
from collections import namedtuple
from functools import lru_cache

from .arguments import Passed
from .names import last_name
from .reading import Edit
from .replacement import replacement
from .tokens import scan, tokens

# With these, a function is not what it seems once a tape is in it.
NAMES_ALL = {"tape", "locals", "vars", "dir"}
# What gives a tensor on which nothing can depend yet; tf.cast, say, may give its argument.
NEW = re.compile(
    r"tf\.(?:math\.|linalg\.|nn\.)?(?:Variable|placeholder|constant|zeros|ones|zeros_like|ones_like"
    r"|random\.\w+|random_\w+|identity|stop_gradient|reshape|concat|stack|transpose|expand_dims"
    r"|squeeze|tile|gather|matmul|add|subtract|multiply|divide|exp|sqrt|square|tanh|sigmoid"
    r"|clip_by_value)$"
).match
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
FAR = 300  # so many statements may stand in a block, or a long file takes too long
ENDS = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.ClassDef, ast.Delete)
ENDS += (ast.Global, ast.Nonlocal)
# A tape sees nothing of what is computed by the first, and not what variables held before the last.
AWAY = re.compile(r"(?:run|experimental_run_v2|eval|numpy|exec|assign\w*|scatter\w*)$")


class Hunk(namedtuple("Hunk", "start old new lines")):
    """A part of a patch: the number of its first line, how many lines it had and has."""

    def __str__(self):
        """Return it as `patch` takes it."""
        sizes = f"@@ -{self.start},{self.old} +{self.start},{self.new} @@"
        return "\n".join([sizes, *self.lines])


class Patch(namedtuple("Patch", "code hunk")):
    """What stands in place of the call, and the hunk that puts the forward pass under a tape."""


def patched_call(code, asked):
    """Return the patch for an old call, or None.

    None is better than a hunk that leaves a part of the forward pass outside.
    """
    rule, given, scope = asked.rule, asked.given, asked.site.scope
    if code.shut or rule.id not in ("tf.gradients", "K.gradients", "parallel_for jacobian"):
        return None
    names = re.search(r"\(\{(\w+)\}, \{(\w+)", rule.code)
    target, sources = (given.get(names[place], Passed("")) for place in (1, 2))
    parts = sources.node.elts if isinstance(sources.node, ast.List) else [sources.node]
    if (
        code.source.how == "words"
        or not (parts and all(isinstance(one, ast.Name) for one in [target.node, *parts]))
        # What is left out of the call changes the nodes of a graph, at least.
        or any("{" + name not in rule.code for name in given)
        or not scope.bindings("tf")[0]
        or not all(is_new(code, one, scope) for one in parts)
    ):
        return None
    block = block_at(code.source.tree, asked.site.node)
    first = first_to_record(block, target.text, [one.id for one in parts])
    if first is None or NAMES_ALL & words_in(block.outermost):
        return None
    if other_asks(code.source.tree, block.around):
        return None
    if any(code.asks(one, scope) for one in block.to_record(first)):
        return None
    if parts[0] is sources.node and rule.id != "parallel_for jacobian":
        # It gave a list for one source, too.
        listed = sources._replace(text=f"[{sources.text}]", span=None)
        asked = asked._replace(given={**given, names[2]: listed})
    new = Edit(asked.start, asked.end, replacement(code, asked))
    watch = f"tape.watch({sources.text})"  # a variable may be one that is not trainable
    hunk = new.text and under_tape(code.source, block, first, watch, new)
    return Patch(new.text, hunk) if hunk else None


def under_tape(source, block, first, watch, new):
    """Return the hunk that puts the statements from `first` to before the call under a tape.

    In that of the call, `new` is made. Where a line is shared, or a string has several, there is
    none.
    """
    lines, place = source.text.split("\n"), block.place
    rows = [one.lineno for one in block.statements[: place + 2]] + [len(lines) + 1]
    ends = [after - 1 for after in rows[1:]]
    start, stop, call = rows[first], ends[place - 1], rows[place]
    while stop > start and not re.match(r"[^\S\n]*[^\s#]", lines[stop - 1]):
        stop -= 1
    end, rest = source.place(new.end).line, source.text[new.end :]
    indent = re.match(r"[ \t]*", lines[start - 1])[0]
    words = list(scan(source.text, source.starts[start - 1], source.starts[call - 1]))
    tail = next((at for kind, _, at, _ in tokens(rest) if kind == "newline"), len(rest))
    begins = source.place(new.start)
    if (
        len(set(rows[first : place + 2])) < len(rows[first : place + 2])
        or any(kind == "string" and "\n" in word for kind, word, _, _ in words)
        or any(len(indent) != one.col_offset for one in block.statements[first : place + 1])
        or len(set(indent)) > 1
        or (start > 1 and lines[start - 2].endswith("\\"))
        or any(one[0] == "comment" for one in scan(source.text, new.start, new.end))
        or begins.line != call
        or end > ends[place]
        or lines[start - 1 : end] != source.given[start - 1 : end]  # mended
    ):
        return None
    step = "\t" if "\t" in indent else "    "
    old, between, last = lines[start - 1 : stop], lines[stop : call - 1], lines[call - 1 : end]
    ending = rest[:tail].split("\n")[0]
    changed = lines[call - 1][: begins.column - 1] + new.text
    changed += ending if ending.strip() else ""
    made = [indent + "with tf.GradientTape() as tape:", indent + step + watch]
    made += [step + line if line.strip() else line for line in old]
    body = ["-" + line for line in old] + ["+" + line for line in made]
    body += [" " + line for line in between]
    body += ["-" + line for line in last] + ["+" + changed]
    count = end - start + 1
    return Hunk(start, count, count + len(made) - len(old) + 1 - len(last), body)


def is_new(code, node, scope):
    """Tell whether a name is a tensor on which nothing depends when it is made."""
    bound = scope.bindings(node.id)[0]
    value = bound[0].value if len(bound) == 1 and bound[0].kind == "value" else None
    if isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
        found = code.names.meanings(value.func, scope)
        return bool(found) and all(one.kind == "path" and NEW(one.path) for one in found)
    return is_number(value)


def words_in(nodes):
    """Return the names that are in nodes, of every kind."""
    words = set()
    for one in nodes:
        words |= {getattr(one, kind, "") for kind in ("id", "attr", "arg", "name", "asname")}
        words |= set(one.names) if isinstance(one, (ast.Global, ast.Nonlocal)) else set()
    return words


@lru_cache(maxsize=1)
def asked_in_functions(tree):
    """Return how often functions in a tree ask for gradients."""
    return sum(map(asks_by_name, ast.walk(tree))) - sum(map(asks_by_name, own_nodes(tree.body)))


def other_asks(tree, around):
    """Tell whether a function other than `around` asks for gradients: perhaps under this tape."""
    mine = 0 if around is tree else sum(map(asks_by_name, own_nodes(around.body)))
    return asked_in_functions(tree) > mine


class CallBlock(namedtuple("CallBlock", "statements place around outermost")):
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
        inner = [one for one in inner if isinstance(one, list) and one]
        inner = [one for one in inner if one[0].lineno <= node.lineno]
        if not inner:
            return CallBlock(block, place, around, ast.walk(outermost))
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            around = statement
            outermost = statement if outermost is tree else outermost
        if type(statement).__name__ in ("Try", "TryStar"):
            return CallBlock(block, place, None, [])  # what fails may be expected to
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
