"""Calls: which rule each call and name of a file falls under."""

import ast
import re

from .arguments import Passed, called_at, keywords_of, named_at
from .context import is_of_tensorflow
from .meanings import is_other_tf
from .names import index_of, last_name, string_of
from .rules import HINT, LISTED, METHODS, OLD_WORDS, OPTIMIZER, RULE
from .tapes import in_block, of_tape

KERAS_MODEL = re.compile(r"(?:tf\.)?(?:\w+\.)*keras\.(?:models\.)?(?:Model|Sequential)$").match
AGGREGATE = {"experimental_aggregate_gradients", "skip_gradients_aggregation"}  # of Keras 2
# Those whose optimizers have a minimize, too: there a name alone proves nothing.
OTHERS = {"gpflow", "paddle", "skopt", "z3", "nevergrad", "mindspore", "oneflow"}


def all_asked(code):
    """Yield all that is old in a file, by its kind of place."""
    kinds = {"Call": of_call, "Attribute": of_attribute, "Name": of_name, "Subscript": of_item}
    for site in code.names.sites:
        asked = kinds[type(site.node).__name__](code, site)
        if asked:
            yield asked
    for site in code.names.blocks:
        yield from in_block(code, site)


def of_call(code, site):
    """Return what an old call asks, or None."""
    names, node, skip = code.names, site.node, 0
    found = names.meanings(node.func, site.scope)
    if node.args and any(one.is_partial() for one in found):
        code.consumed.add(node.args[0])
        found, skip = names.meanings(node.args[0], site.scope), 1
    if len(node.args) > 1 and any(one.is_any("setattr") for one in found):
        held = names.meanings(node.args[0], site.scope)
        if any(one.rule(str(string_of(node.args[1]))) for one in held):
            return named_at(code, site, RULE["replaced tf.gradients"])
    rule = first_rule(found, len(node.args) + len(node.keywords))
    if rule:
        return called_at(code, site, registered(code, site, rule), is_bound(code, site), skip)
    attribute = getattr(node.func, "attr", "")
    rules, registers = METHODS.get(attribute, {}), RULE["RegisterGradient for a map"]
    rule = registers if attribute == "RegisterGradient" else rules.get("anything")
    if rule:
        return called_at(code, site, registered(code, site, rule))
    if rules:
        return (of_tape if "tape" in rules else of_optimizer)(code, site)
    for one in sorted(found):  # a method under another name
        base, _, last = one.path.rpartition(".")
        if last in METHODS and base.endswith(")"):
            kind = names.optimizer_kind({one._replace(path=base)})
            rule = kind in ("v1", "keras") and method_rule(last, kind)
            if rule:
                return called_at(code, site, rule)
    return None


def is_bound(code, site):
    """Tell whether the first name of what is old is bound; in a fragment, tf is a good guess."""
    node = getattr(site.node, "func", site.node)
    if any(one.endswith(".tf_gradients") for one in code.names.paths(node, site.scope)):
        return False  # only its name says that it passes TensorFlow's on
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if not isinstance(node, ast.Name):
        return True
    bound, _ = site.scope.bindings(node.id)
    guessed = any(one.kind == "path" and is_other_tf(node.id, one.value) for one in bound)
    return bool(bound) and not guessed


def registered(code, site, rule):
    """Return the rule for RegisterGradient, by the use of the name in this file."""
    if not rule.id.startswith("RegisterGradient"):
        return rule
    name = site.node.args and code.names.constant(site.node.args[0], site.scope)
    mapped = code.mapped_gradients() if code.overrides else ()
    for_map = not name or not re.match(r"[A-Z]\w*$", name) or mapped is None or name in mapped
    return RULE["RegisterGradient for a map" if for_map else "RegisterGradient"]


def of_attribute(code, site):
    """Return what a dotted name says that is not called, or None."""
    node = site.node
    if node.attr != "total_loss":
        return of_name(code, site)
    if isinstance(node.ctx, ast.Load) and re.search(r"model$", last_name(node.value)):
        if "keras" in code.whole and ".total_loss =" not in code.whole:
            return named_at(code, site, RULE["model.total_loss"], False)
    return None


def of_name(code, site):
    """Return what a name says that is not called, bare or dotted, or None."""
    node, stored = site.node, isinstance(site.node.ctx, ast.Store)
    if isinstance(site.parent, ast.Attribute) or node in code.consumed:
        return None
    if isinstance(node, ast.Name) and (stored or not site.scope.bindings(node.id)[0]):
        return None
    rule = first_rule(code.names.meanings(node, site.scope))
    rule = RULE["replaced tf.gradients"] if stored and rule is RULE["tf.gradients"] else rule
    return rule and named_at(code, site, rule, is_bound(code, site))


def first_rule(meanings, count=0):
    """Return the first rule for what something may stand for that is given so much, or None."""
    # TensorFlow 2's own takes three arguments at most, the old one four at least.
    old = (one for one in sorted(meanings) if count > 3 or one.path != "tf.test.compute_gradient")
    return next(filter(None, (one.rule() for one in old)), None)


def of_item(code, site):
    """Return what `tf.__dict__["gradients"] = f` does, or None."""
    held = site.node.value
    if getattr(held, "attr", "") == "__dict__":
        name = str(string_of(index_of(site.node)))
        if any(one.rule(name) for one in code.names.meanings(held.value, site.scope)):
            return named_at(code, site, RULE["replaced tf.gradients"])
    return None


def method_rule(method, kind):
    """Return the rule for a method of a kind of object, or None."""
    rules = METHODS[method]
    keras = "keras optimizer" if kind == "keras" else "optimizer"
    for of in ("anything", "scipy" if kind == "scipy" else keras, "any optimizer"):
        if of in rules:
            return rules[of]
    return None


def of_optimizer(code, site):
    """Return what a call of an optimizer's method asks, on whatever object, or None."""
    method = site.node.func.attr
    objects = code.names.meanings(site.node.func.value, site.scope)
    kind, certain = own_kind(code, site, objects)
    kind = kind or code.names.optimizer_kind(objects)
    words = keywords_of(site)
    if kind in ("skip", "foreign", "local"):
        return None
    if kind in ("", "likely"):
        if not is_likely(code, site, method, words, kind):
            return None
        certain, kind = False, guessed_kind(code, site, words)
    # What wraps an optimizer under its name may have methods of its own, and so may another kind.
    known = [one for one in objects if one.kind in ("path", "unbound")]
    certain = certain and all(code.names.optimizer_kind({one}) == kind for one in known)
    rule = method_rule(method, kind)
    # TensorFlow 2 has these in tensorflow.compat.v1 alone, or not at all; another may be for it.
    lacks = [re.match(r"tf\.(?:train|contrib)\.", one.path) and not one.v1 for one in known]
    as_ever = method == "apply_gradients" and is_as_ever(code, site, kind, words)
    if not rule or (as_ever and not (lacks and all(lacks) and kind == "v1")):
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
        return not words & {"name", "global_step", *AGGREGATE}
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
    if not is_of_tensorflow(code.whole) or (method in code.methods and not words & OLD_WORDS):
        return False
    count = len(site.node.args) + len(site.node.keywords)
    hint = bool(kind == "likely" or HINT.search(last_name(site.node.func.value)))
    if words & {*OLD_WORDS, *AGGREGATE}:
        return method != "apply_gradients" or hint or bool(words & {"global_step", *AGGREGATE})
    if code.names.roots & OTHERS:
        return False
    if method in ("get_gradients", "get_updates"):
        return hint and count >= 2
    if method == "apply_gradients":
        owner = site.scope.owner()  # an optimizer that passes the call on to another
        old = code.builds_graphs() and "GradientTape" not in code.whole
        return bool(hint and count and (old or (owner and code.names.class_kind(owner) == "v1")))
    return hint and count >= 1


def guessed_kind(code, site, words):
    """Return the kind of an optimizer of which nothing is known, by what it is given."""
    first, second, *_ = [*site.node.args, None, None]
    if "session" in words or re.match(r"sess(ion)?$", last_name(first)):
        return "scipy"
    listed = isinstance(second, (ast.List, ast.Tuple)) or LISTED.search(last_name(second))
    if words & {"tape", *AGGREGATE} or (listed and site.node.func.attr == "minimize"):
        return "keras"
    if words & OLD_WORDS - {"var_list", "grad_loss"}:
        return "v1"
    held, owner = site.node.func.value, site.scope.owner()
    of_model = getattr(getattr(held, "value", None), "id", "") == "self" and owner
    bases = owner.node.bases if of_model and last_name(held) == "optimizer" else ()
    model = any(map(KERAS_MODEL, set().union(*(code.names.paths(b, owner.parent) for b in bases))))
    keras = model or isinstance(first, ast.Lambda) or kinds_tested(code, held) == {"keras"}
    return "keras" if keras else "v1"


def kinds_tested(code, held):
    """Return of what kinds a file asks whether an object of that name is."""
    names, name, kinds = code.names, last_name(held).strip("_"), set()
    for node, scope, *_ in names.calls_of("isinstance"):
        if node.args and last_name(node.args[0]).strip("_") == name:
            classes = getattr(node.args[-1], "elts", node.args[1:])
            kinds |= {names.optimizer_kind(names.meanings(one, scope)) for one in classes}
    return kinds - {""}  # of no optimizer, such as a text
