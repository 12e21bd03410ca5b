"""Meanings: what an expression may stand for, through imports, aliases and attributes."""

import ast
import re
from collections import namedtuple

from .names import Bindings, index_of, last_name, string_of
from .reading import parses
from .rules import FOREIGN, KERAS_OPTIMIZER, KNOWN, OPTIMIZER, canonical, head, ruled

DEPTH = 12  # so many steps are followed, and so many meanings kept
REWRITE = "enable_mixed_precision_graph_rewrite()"
TENSORFLOWS = ("tf", "tf1", "tfv1")  # what one imports TensorFlow as
# What has other modules that one imports as tf.
OTHERWISE = re.compile(r"torch|.*\btransform(?:s|ations)\b").match
HOLDS = re.compile(r"list|dict|tuple|set|seq|iter|map|coll", re.I)  # of many, in an annotation
GIVES_FUNCTION = {"functools.partial", "partial"}


class Meaning(namedtuple("Meaning", "kind path calls of v1", defaults=("", 0, None, False))):
    """What an expression may stand for.

    "path": a dotted name from elsewhere, in which `x()` is what calling x gives; "unbound": one
    whose first name nothing binds; "def", "class" and "super": what has the scope `of`, a class
    called so many times; "item": what holds the meaning `of`. `v1` tells whether the path leads
    through tensorflow.compat.v1, which it no longer shows.
    """

    def at(self, path):
        """Return the meaning of a dotted name to which this one leads."""
        return self._replace(path=canonical(path), v1=self.v1 or "compat.v1" in path)

    def is_any(self, *names):
        """Tell whether this is one of these builtins."""
        return self.kind == "unbound" and self.path in names

    def is_settled(self):
        """Tell whether this is known to be of TensorFlow, or known to be something else."""
        if self.kind == "path":
            return self.path.startswith("tf") or head(self.path) in FOREIGN
        return self.kind != "unbound" or self.path == "object()"

    def is_partial(self):
        """Tell whether calling this gives what its first argument is."""
        return self.kind in ("path", "unbound") and self.path in GIVES_FUNCTION

    def rule(self, name=""):
        """Return the rule for this, or for its attribute `name`, if there is one."""
        if self.kind not in ("path", "unbound"):
            return None
        return ruled(canonical(self.path + "." + name) if name else self.path)


def is_other_tf(name, path):
    """Tell whether what is imported as tf is a module that, it seems, passes TensorFlow on."""
    known = canonical(path).startswith(("tf", "K")) or head(path) in FOREIGN or OTHERWISE(path)
    return name in TENSORFLOWS and not known


IMPORT_MODULE = Meaning("path", "importlib.import_module")


class Names(Bindings):
    """What the names of one tree mean."""

    def __init__(self, tree):
        """Walk the tree once."""
        super().__init__(tree)
        self._memo = {}

    def meanings(self, node, scope, depth=0):
        """Return all that an expression may stand for."""
        if node is None or depth > DEPTH:
            return frozenset()
        # By depth: an answer that the limit has cut is none for who asks from nearer.
        key = (node, scope, depth)
        if key not in self._memo:
            found = getattr(self, "_of_" + type(node).__name__.lower(), None)
            result = found(node, scope, depth + 1) if found else ()
            self._memo[key] = frozenset(sorted(result)[:DEPTH] if len(result) > DEPTH else result)
        return self._memo[key]

    def paths(self, node, scope):
        """Return the dotted names among them, of what is bound."""
        return {one.path for one in self.meanings(node, scope) if one.kind == "path"}

    def functions(self, node, scope):
        """Return the scopes of the functions of this file among them."""
        return [one.of for one in self.meanings(node, scope) if one.kind == "def"]

    def _of_namedexpr(self, node, scope, depth):
        return self.meanings(node.value, scope, depth)

    def named(self, name, scope, depth=0):
        """Return all that a name may stand for."""
        bound, where = scope.bindings(name)
        found = set()
        for one in bound:
            found |= self._of_binding(name, one, where, depth)
        if bound:
            return found
        for star in self.module.stars:
            one = Meaning("path").at(star + "." + name)
            if one.rule() or name in KNOWN:
                found.add(one._replace(path=KNOWN.get(name, one.path)))
        if not found:
            found.add(Meaning("path", KNOWN[name]) if name in KNOWN else Meaning("unbound", name))
        return found

    def _of_name(self, node, scope, depth):
        return self.named(node.id, scope, depth)

    def _of_binding(self, name, bound, where, depth):
        if bound.kind == "path":
            other = is_other_tf(name, bound.value)
            return {Meaning("path").at("tf" if other else bound.value)}
        if bound.kind in ("def", "class"):
            return {Meaning(bound.kind, of=bound.scope)}
        if bound.kind == "part":
            return self._of_subscript(bound, bound.scope, depth)
        if bound.kind == "hint":
            return self._of_hint(bound.value, bound.scope, depth)
        found = self.meanings(bound.value, bound.scope, depth)
        if name in TENSORFLOWS and not any(one.is_settled() for one in found):
            return {Meaning("path", "tf")}  # what some function imported
        return found

    def _of_hint(self, hint, scope, depth):
        """Return what an object may be that has an annotation."""
        if string_of(hint):
            body = getattr(parses(string_of(hint)), "body", ())
            hint = next((one.value for one in body if isinstance(one, ast.Expr)), None)
        if isinstance(hint, ast.Subscript):
            found = self._of_hint(index_of(hint), scope, depth)
            held = HOLDS.search(last_name(hint.value))  # and not Optional[…]
            return {Meaning("item", of=one) for one in found} if held else found
        if isinstance(hint, (ast.Tuple, ast.BinOp)) and depth < DEPTH:
            parts = getattr(hint, "elts", None) or (hint.left, hint.right)
            return set().union(*(self._of_hint(one, scope, depth + 1) for one in parts))
        found = self._of_call(ast.Call(hint, [], []), scope, depth)
        return {one for one in found if one.is_settled()}

    def _of_attribute(self, node, scope, depth):
        found = set()
        if getattr(node.value, "id", "") in ("self", "cls"):
            found = self._member(scope.owner(), node.attr, depth)
        else:
            for one in self.meanings(node.value, scope, depth):
                if one.kind == "class" and one.calls < 2:
                    found |= self._member(one.of, node.attr, depth)
                elif one.kind in ("path", "unbound"):
                    found.add(one.at(one.path + "." + node.attr))
        if not found and node.attr in ("tf", "_tf"):
            found.add(Meaning("path", "tf"))
        return found

    def _member(self, owner, name, depth):
        """Return what an attribute of a class of this file may stand for."""
        found = set()
        for at in self._family(owner):
            for bound in at.attributes.get(name, []) + at.names.get(name, []):
                found |= self._of_binding(name, bound, at, depth)
        return found

    def _family(self, owner, depth=0):
        """Return a class and its bases in this file."""
        if owner is None or depth > 8:
            return []
        found = [owner]
        for base in owner.node.bases:
            for one in sorted(self.meanings(base, owner.parent, depth)):
                if one.kind == "class" and not one.calls:
                    found += self._family(one.of, depth + 1)
        return found

    def dotted(self, node, scope):
        """Return the dotted names among its meanings, and those of the bases of its classes."""
        found = self.meanings(node, scope)
        owners = (self._family(one.of) for one in found if one.kind in ("class", "super"))
        bases = ((base, one.parent) for each in owners for one in each for base in one.node.bases)
        found = found.union(*(self.meanings(*one) for one in bases))
        return [one for one in found if one.kind == "path"]

    def _of_call(self, node, scope, depth):
        found = set()
        first = node.args[0] if node.args else None
        for one in self.meanings(node.func, scope, depth):
            if one.is_any("getattr") and len(node.args) > 1:
                name = string_of(node.args[1])
                for held in self.meanings(first, scope, depth) if name else ():
                    if held.kind in ("path", "unbound"):
                        found.add(held.at(held.path + "." + name))
            elif one.is_any("super"):
                owner = scope.owner()
                if owner:
                    found.add(Meaning("super", of=owner))
            elif one.is_partial():
                found |= self.meanings(first, scope, depth)
            elif one.is_any("__import__") or one == IMPORT_MODULE:
                found.add(Meaning("path").at(string_of(first) or "unknown"))
            elif one.kind == "def":
                for value in one.of.returns[:8]:
                    found |= self.meanings(value, one.of, depth)
            elif one.kind == "class":
                found.add(one._replace(calls=one.calls + 1))
            elif one.kind in ("path", "unbound") and one.path.count("(") < 4:
                found.add(one._replace(path=one.path + "()"))
        return found

    def _of_subscript(self, node, scope, depth):
        found = self.meanings(node.value, scope, depth)
        part = isinstance(getattr(node, "slice", None), ast.Slice)  # which is a list again
        return {one if part else one.of for one in found if one.kind == "item"}

    def _of_dict(self, node, scope, depth):
        held = getattr(node, "values", None) or getattr(node, "elts", None)
        held = held or [getattr(node, "elt", None)]
        values = (self.meanings(value, scope, depth) for value in held[:20])
        return {Meaning("item", of=one) for value in values for one in value}

    _of_list = _of_tuple = _of_listcomp = _of_generatorexp = _of_dict

    def _of_boolop(self, node, scope, depth):
        parts = getattr(node, "values", None) or (node.body, node.orelse)
        return frozenset().union(*(self.meanings(one, scope, depth) for one in parts))

    _of_ifexp = _of_boolop

    def constant(self, node, scope, depth=0):
        """Return the string that an expression is, through names, or None."""
        name = getattr(node, "id", None)
        if name and depth < 6:
            bound = [one for one in scope.bindings(name)[0] if one.kind == "value"]
            texts = {self.constant(one.value, one.scope, depth + 1) for one in bound}
            return texts.pop() if len(texts) == 1 else None
        return string_of(node)

    def optimizer_kind(self, meanings, depth=0):
        """Return what the meanings of an object or class say: v1, keras, scipy, foreign, local."""
        found = set()
        for one in meanings:
            bare = one.path.rstrip("()")
            if bare.endswith(("ScipyOptimizerInterface", "ExternalOptimizerInterface")):
                found.add("scipy")
            elif one.kind in ("class", "super"):
                found.add(self.class_kind(one.of, depth))
            elif one.kind == "path" and KERAS_OPTIMIZER.match(bare):
                found.add("keras")
            elif one.path.endswith(REWRITE) or (one.kind == "path" and OPTIMIZER.match(bare)):
                found.add("v1")
            elif one.kind == "path" and head(bare) in FOREIGN:
                found.add("foreign")
        order = ("scipy", "v1", "keras", "likely", "local", "foreign")
        return next((kind for kind in order if kind in found), "")

    def class_kind(self, owner, depth=0):
        """Return the kind of a class of this file, by its bases."""
        if depth > 8:
            return "local"
        kinds = set()
        for base in owner.node.bases:
            kinds.add(self.optimizer_kind(self.meanings(base, owner.parent), depth + 1))
            last = getattr(base, "attr", getattr(base, "id", ""))
            if "ptimizer" in last and not kinds & {"scipy", "v1", "keras", "local", "foreign"}:
                kinds.add("likely")
        order = ("scipy", "v1", "keras", "likely", "foreign")
        return next((kind for kind in order if kind in kinds), "local")
