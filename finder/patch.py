"""A tape around the forward pass, where all of it stands in the block of the call."""

import ast
import re
from collections import namedtuple
from functools import lru_cache

from .arguments import Passed
from .forward import asks_by_name, block_at, first_to_record, is_number, own_nodes
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
