"""Optimizers: whether an object on which a method is called is one, and of which kind."""

import ast
import re

from .arguments import Passed, called_at, keywords_of
from .names import last_name
from .rules import HINT, METHODS, OLD_WORDS, OPTIMIZER

# Those whose optimizers have a minimize, too: there a name alone proves nothing.
OTHERS = {"gpflow", "paddle", "skopt", "z3", "nevergrad", "mindspore", "oneflow"}


def method_rule(method, kind):
    """Return the rule for a method of a kind of object, or None."""
    rules = METHODS[method]
    keras = "keras optimizer" if kind == "keras" else "optimizer"
    for of in ("anything", "scipy" if kind == "scipy" else keras, "any optimizer"):
        if of in rules:
            return rules[of]
    return None


def of_optimizer(code, site, method):
    """Return what a call of an optimizer's method asks, on whatever object, or None."""
    receiver = site.node.func.value
    objects = code.names.meanings(receiver, site.scope)
    kind, certain = own_kind(code, site, objects)
    kind = kind or code.names.optimizer_kind(objects)
    words = keywords_of(site)
    if kind in ("skip", "foreign", "local"):
        return None
    if kind in ("", "likely"):
        if not is_likely(code, site, method, words, kind):
            return None
        certain, kind = False, guessed_kind(site)
    rule = method_rule(method, kind)
    if not rule or (method == "apply_gradients" and is_as_ever(code, site, kind, words)):
        return None
    paths = (one.path for one in objects if one.kind == "path")
    if site.node.args and any(not p.endswith(")") and OPTIMIZER.match(p) for p in paths):
        # The class's own function, whose first argument is the optimizer.
        asked = called_at(code, site, rule, certain, skip=1)
        return asked._replace(given={**asked.given, "self": Passed("")})
    return called_at(code, site, rule, certain)


def is_as_ever(code, site, kind, words):
    """Tell whether a call of apply_gradients is as one writes it with a tape."""
    if kind == "keras":
        return not words & {"name", "global_step"}
    given = site.node.args
    pairs = len(given) == 1 and not words and not isinstance(given[0], ast.Starred)
    old = ".compute_gradients(" in code.whole or ".gradients(" in code.whole
    return pairs and "GradientTape" in code.whole and not old


def own_kind(code, site, objects):
    """Return what `self` or `super()` is, a kind, "skip" or nothing, and whether it is certain."""
    above = any(one.kind == "super" for one in objects)
    if not above and getattr(site.node.func.value, "id", "") not in ("self", "cls"):
        return "", True
    owner = site.scope.owner()
    kind = owner and code.names.class_kind(owner)
    if kind in ("v1", "keras", "likely"):
        return ("v1" if kind == "likely" else kind), kind != "likely"
    if kind and above and keywords_of(site) & (OLD_WORDS | {"loss"}):
        return "v1", False
    return "skip", True


def is_likely(code, site, method, words, kind):
    """Tell whether an unknown object is an optimizer, by its name and arguments."""
    if not code.tensorflow or (method in code.methods and not words & OLD_WORDS):
        return False
    count = len(site.node.args) + len(site.node.keywords)
    hint = bool(kind == "likely" or HINT.search(last_name(site.node.func.value)))
    if words & OLD_WORDS:
        return method != "apply_gradients" or hint or "global_step" in words
    if code.names.roots & OTHERS:
        return False
    if method in ("get_gradients", "get_updates"):
        return hint and count >= 2
    if method == "apply_gradients":
        owner = site.scope.owner()  # an optimizer that passes the call on to another
        old = code.builds_graphs() and "GradientTape" not in code.whole
        return bool(hint and count and (old or (owner and code.names.class_kind(owner) == "v1")))
    return hint and count >= 1


def guessed_kind(site):
    """Return the kind of an optimizer of which nothing is known: scipy's ask for a session."""
    first = site.node.args[0] if site.node.args else None
    session = any(word.arg == "session" for word in site.node.keywords)
    return "scipy" if session or re.match(r"sess(ion)?$", last_name(first)) else "v1"
