"""Tapes: old keywords on them, and traps in and after their blocks."""

import ast
import re

from .arguments import called_at, named_at
from .names import Spot, index_of, last_name
from .rules import RULE
from .watching import ASKED, late_watches, watched_names

TAPE = re.compile(r"(?:tf|horovod)\.(?:\w+\.)*\w*GradientTape\(\)$")
SINGLE = re.compile(
    r"tf\.(?:Variable|get_variable|placeholder|constant|convert_to_tensor|ones|zeros|random\.\w+)\(\)$"
)


def is_tape(code, node, scope):
    """Tell whether an expression is a tape for certain."""
    found = code.names.meanings(node, scope)
    return bool(found) and all(TAPE.match(one.path) for one in found)


def is_one_tensor(code, node, scope):
    """Tell whether an expression is one tensor or variable for certain."""
    found = code.names.meanings(node, scope)
    return bool(found) and all(one.kind == "path" and SINGLE.match(one.path) for one in found)


def of_tape(code, site):
    """Return what is wrong with a call on a tape: old keywords, its own block, a leftover index."""
    node, rule, receiver = site.node, RULE["old keyword on a tape"], site.node.func.value
    sure = is_tape(code, receiver, site.scope)
    words = {word.arg for word in node.keywords}
    if (sure or "tape" in last_name(receiver).lower()) and words & set(rule.arguments):
        return called_at(code, site, rule, sure)
    if sure and is_inside(site, receiver):
        return named_at(code, site, RULE["persistent tape asked inside its block"])
    up = site.parent
    if sure and isinstance(up, ast.Subscript) and up.value is node and len(node.args) > 1:
        index = index_of(up)
        zero = getattr(index, "value", getattr(index, "n", None)) == 0
        if zero and is_one_tensor(code, node.args[1], site.scope):
            return named_at(code, site, RULE["leftover [0]"], False)
    return None


def is_inside(site, receiver):
    """Tell whether a persistent tape is asked in the text of its own block."""
    around = site.around
    while around and around.kind == "with" and isinstance(receiver, ast.Name):
        for item in around.node.items:
            named = getattr(item.optional_vars, "id", None) == receiver.id
            if named or last_name(item.context_expr) == "stop_recording":  # which takes none
                words = {one.arg: one.value for one in getattr(item.context_expr, "keywords", [])}
                return getattr(words.get("persistent"), "value", False) is True
        around = around.around
    return False


def in_block(code, site):
    """Yield the traps in the block of a tape."""
    for item in site.node.items:
        tape = getattr(item.optional_vars, "id", None)
        if tape and is_tape(code, item.optional_vars, site.scope):
            names = watched_names(site.node.body, tape)
            yield from late_watches(code, site, tape, names) if names else ()
            for statement in site.node.body:
                yield from numpy_in(code, site, statement)


def numpy_in(code, site, statement):
    """Yield the calls of `numpy` in a statement under a tape, but for those on its gradients."""
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)):
        for one in ast.walk(statement):
            func = getattr(one, "func", None)
            if getattr(func, "attr", "") == "numpy" and not one.args:
                asked = getattr(getattr(func.value, "func", None), "attr", "")
                if asked not in ASKED:
                    place = Spot(one, site.scope, site.around, statement)
                    yield named_at(code, place, RULE["numpy under the tape"], False)
