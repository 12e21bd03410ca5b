"""Watching: what was computed from a tensor before a tape watched it, and is asked of the tape."""

import ast
import re

from .arguments import named_at
from .names import Spot, last_name
from .rules import RULE

# What gives no value with a gradient, or the tensor itself.
LOOKING = re.compile(
    r"(?:print|len|isinstance|type|hasattr|id|str|repr|int|float|bool|range|info|debug|shape\w*"
    r"|get_shape|size|rank|ndims|zeros_like|ones_like|stop_gradient|numpy|item|tolist|arg\w+"
    r"|round|floor|ceil|sign|is_\w+|convert_to_tensor|assert\w*|(?:not_)?equal|greater\w*|less\w*"
    r"|logical_\w+|reduce_a(?:ll|ny)|one_hot|searchsorted|unique\w*|bincount|set_shape)$"
).match
SEEN = {"shape", "dtype", "name", "ndim", "device", "size", "rank"}
# What surely gives another value with a gradient.
RECORDED = re.compile(
    r"(?:square|pow|exp|log\w*|sqrt|rsqrt|reduce_\w+|matmul|tensordot|einsum|add|add_n|multiply"
    r"|subtract|divide|sin|cos|tanh|sigmoid|relu|softmax|softplus|norm|abs|identity|reshape|concat"
    r"|stack|expand_dims|squeeze|transpose|negative|maximum|minimum|clip_by_\w+)$"
).match
APART = (ast.Lambda, ast.Compare, ast.FormattedValue, ast.Slice)
ASKED = ("gradient", "jacobian", "batch_jacobian")


class Flow:
    """From which of some names the values of all were computed, and whether that is certain."""

    def __init__(self, code, scope, names):
        """Start where nothing was computed."""
        self.code, self.scope, self.names = code, scope, names
        self.of, self.watched = {}, set()

    def origins(self, node):
        """Return from what an expression is computed, each name or mark with its certainty."""
        found, stack = {}, [(node or ast.Pass(), True)]
        while stack:
            one, sure = stack.pop()
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                own = {one.id: True} if one.id in self.names else {}
                for name, known in {**self.of.get(one.id, {}), **own}.items():
                    found[name] = found.get(name, False) or (sure and known)
            elif isinstance(one, ast.Subscript):
                stack.append((one.value, sure))
            elif isinstance(one, ast.IfExp):
                stack += [(one.body, False), (one.orelse, False)]
            elif isinstance(one, ast.Call):
                if not LOOKING(last_name(one.func)):
                    sure = sure and self.is_recorded(one)
                    stack += [(part, sure) for part in ast.iter_child_nodes(one)]
            elif not isinstance(one, APART) and getattr(one, "attr", "") not in SEEN:
                stack += [(part, sure) for part in ast.iter_child_nodes(one)]
        return found

    def is_recorded(self, call):
        """Tell whether a call is for certain an operation that a tape records."""
        found = self.code.names.meanings(call.func, self.scope)
        ours = all(one.kind == "path" and one.path.startswith("tf.") for one in found)
        return bool(found) and ours and bool(RECORDED(last_name(call.func)))

    def bind(self, target, value, perhaps):
        """Let the names of a target hold a value, or, perhaps, what they held before."""
        parts, values = (getattr(one, "elts", None) for one in (target, value))
        if parts and values and len(parts) == len(values):
            for one, given in zip(parts, values):
                self.bind(one, given, perhaps)
            return
        made = self.origins(value)
        if isinstance(value, ast.Name):
            made.pop(value.id, None)  # the same tensor under another name
        names = names_in(target)
        self.watched -= names
        for name in names & self.names:
            for other in self.of.values():
                other.pop(name, None)
        for name in names:
            kept = self.of.get(name, {}) if perhaps else {}
            self.of[name] = {**kept, **{one: made[one] for one in made if one not in names}}

    def follow(self, statement, perhaps):
        """Take in what a statement binds, but not those inside it."""
        kind, value = type(statement).__name__, getattr(statement, "value", None)
        if kind == "Assign":
            for target in statement.targets:
                self.bind(target, value, perhaps)
        elif kind in ("AnnAssign", "AugAssign") and value is not None:
            self.bind(statement.target, value, perhaps or kind == "AugAssign")
        elif kind in ("For", "AsyncFor"):
            self.bind(statement.target, statement.iter, perhaps)
        elif getattr(getattr(value, "func", None), "attr", "") in ("append", "extend"):
            held = value.func.value
            if isinstance(held, ast.Name) and value.args:
                self.of.setdefault(held.id, {}).update(self.origins(value.args[0]))


def late_watches(code, site, tape, names):
    """Yield the calls of `watch` that come too late for what a tape is asked.

    Args:
        code: The file.
        site: The block of the tape.
        tape: Its name.
        names: Those of what it watches.
    """
    flow, late, asked, read, silent = Flow(code, site.scope, names), {}, {}, set(), True
    for statement, perhaps in in_order([*site.node.body, *statements_after(site)]):
        if any(tape in names_in(one.optional_vars) for one in getattr(statement, "items", ())):
            break  # another tape of that name
        for part in (one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.expr)):
            read |= flow.origins(part).keys()
            for call in (one for one in ast.walk(part) if is_asked(one, tape, *ASKED)):
                words = {one.arg: one.value for one in call.keywords}
                target, sources = [*call.args, words.get("target"), words.get("sources")][:2]
                silent, marks = False, flow.origins(target)
                for mark in marks.keys() & late.keys():
                    if late[mark][0] in names_in(sources):
                        asked[mark] = asked.get(mark, False) or marks[mark]
        call = getattr(statement, "value", None)
        if is_asked(call, tape, "watch") and call.args:
            place = Spot(call, site.scope, site.around, statement)
            names = names_in(call.args[0]) - flow.watched
            for one in (one for one in names if not is_variable(code, one, site.scope)):
                late[len(late)] = (one, place)
                for origins in flow.of.values():
                    if one in origins:
                        origins[len(late) - 1] = origins[one] and not perhaps
                flow.watched.add(one)
        flow.follow(statement, perhaps)
    for mark, (_, place) in late.items():
        if mark in asked or (silent and mark in read):
            yield named_at(code, place, RULE["watch after use"], asked.get(mark, False))


def watched_names(block, tape):
    """Return the names that a tape is told to watch in a block."""
    nodes = (one for statement in block for one in ast.walk(statement))
    calls = (one for one in nodes if is_asked(one, tape, "watch") and one.args)
    return set().union(*(names_in(one.args[0]) for one in calls))


def is_variable(code, name, scope):
    """Tell whether a name is a variable, which a tape watches by itself, for certain."""
    found = code.names.named(name, scope)
    return bool(found) and all(one.path in ("tf.Variable()", "tf.get_variable()") for one in found)


def is_asked(node, tape, *methods):
    """Tell whether a node calls one of the methods of a tape."""
    func = getattr(node, "func", None)
    return getattr(func, "attr", "") in methods and getattr(func.value, "id", "") == tape


def names_in(node):
    """Return the names in an expression, or in none."""
    return {one.id for one in ast.walk(node or ast.Pass()) if isinstance(one, ast.Name)}


def in_order(statements, perhaps=False):
    """Yield statements and those inside them, and whether they may be left out."""
    for one in statements:
        yield one, perhaps
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "handlers", "orelse", "finalbody"):
                inner = getattr(one, field, ())
                yield from in_order(inner, perhaps or not isinstance(one, ast.With))


def statements_after(site):
    """Return the statements behind that of a place, in its block."""
    blocks = (getattr(site.parent, field, None) for field in ("body", "orelse", "finalbody"))
    for block in blocks:
        if isinstance(block, list) and site.node in block:
            return block[block.index(site.node) + 1 :]
    return []
