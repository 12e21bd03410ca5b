"""Names: who binds what where, without running anything."""

import ast
from collections import namedtuple
from itertools import count

from .rules import KNOWN, WORDS

BINDS = set("FunctionDef AsyncFunctionDef Lambda ClassDef Import ImportFrom Assign Return".split())
BINDS |= set("AnnAssign AugAssign NamedExpr For AsyncFor comprehension With AsyncWith".split())
BINDS.add("Global")
LOOKS = {"Call", "Attribute", "Name", "Subscript", "With", "AsyncWith"}
LEAVES = {type(None), str, int, ast.Load, ast.Store, type(ast.parse("1").body[0].value)}


class Binding(namedtuple("Binding", "kind value scope")):
    """What a name may be.

    For the kind "path", `value` is dotted; for "value", an expression in `scope`, or None; for
    "part", the expression holds it; for "hint", it is the class, as an annotation says; for "def"
    and "class", `scope` is that of its body.
    """


class Around(namedtuple("Around", "kind node scope around")):
    """A "def" or "with" that stands around a place, in which scope, and what is around it."""


class Spot(namedtuple("Spot", "node scope around parent")):
    """A place to look at: a call, or a name that is no call."""


class Scope:
    """The names of a module, function or class, and of its instances."""

    made = count()

    def __init__(self, parent=None, kind="module", node=None):
        """Start with no names."""
        self.parent, self.kind, self.node = parent, kind, node
        self.names, self.attributes, self.items, self.returns = {}, {}, {}, []
        self.stars, self.me, self.number = [], None, next(Scope.made)

    def __lt__(self, other):
        """Tell which stands first."""
        return self.number < other.number

    def bind(self, name, kind, value, scope=None):
        """Add something that `name` may be."""
        self.names.setdefault(name, []).append(Binding(kind, value, scope))

    def owner(self):
        """Return the class around, or None."""
        scope = self
        while scope and scope.kind != "class":
            scope = scope.parent
        return scope

    def bindings(self, name):
        """Return all that `name` may be, and where; class bodies are not seen from inside."""
        scope = self
        while scope:
            if name in scope.names and (scope.kind != "class" or scope is self):
                return scope.names[name], scope
            scope = scope.parent
        return [], None


class Bindings:
    """All bindings of one tree, and the sites in it."""

    def __init__(self, tree):
        """Walk the tree once, without recursion."""
        self.module = Scope()
        self.sites, self.classes, self.blocks, self.roots = [], [], [], set()
        stack = [(tree, self.module, None, None)]
        while stack:
            node, scope, around, parent = stack.pop()
            kind, inner, context = type(node).__name__, scope, around
            if kind in BINDS:
                inner, context = self._enter(node, scope, around, kind)
            if kind in LOOKS:
                self._record(Spot(node, scope, around, parent), kind)
            outside = inner is not scope
            for field in () if kind == "Name" else node._fields:  # half of all nodes
                child = getattr(node, field, None)
                if isinstance(child, list):
                    where = outside and field in ("decorator_list", "bases", "keywords")
                    own = (scope, around, node) if where else (inner, context, node)
                    stack += [(one, *own) for one in child if type(one) not in LEAVES]
                elif isinstance(child, ast.AST) and type(child) not in LEAVES:
                    stack.append((child, inner, context, node))

    def _enter(self, node, scope, around, kind):
        """Bind what `node` binds; return the scope and surroundings of its children."""
        if kind in ("FunctionDef", "AsyncFunctionDef", "Lambda"):
            return self._function(node, scope), Around("def", node, scope, around)
        if kind == "ClassDef":
            inner = Scope(scope, "class", node)
            self.classes.append(inner)
            scope.bind(node.name, "class", None, inner)
            return inner, around
        if kind in ("With", "AsyncWith"):
            for item in node.items:
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, item.context_expr, scope)
            return scope, Around("with", node, scope, around)
        self._bind(node, scope, kind)
        return scope, around

    def _bind(self, node, scope, kind):
        if kind in ("Import", "ImportFrom"):
            self._import(node, scope)
        elif kind == "Assign":
            for target in node.targets:
                self._assign(target, node.value, scope)
        elif kind in ("AnnAssign", "AugAssign", "NamedExpr"):
            if node.value is not None:
                self._assign(node.target, node.value, scope)
            if kind == "AnnAssign":
                self._assign(node.target, node.annotation, scope, "hint")
        elif kind in ("For", "AsyncFor", "comprehension"):
            self._loop(node.target, node.iter, scope)
        elif kind == "Return" and node.value is not None:
            scope.returns.append(node.value)
        elif kind == "Global":
            for name in node.names:
                scope.names[name] = self.module.names.setdefault(name, [])

    @staticmethod
    def _function(node, scope):
        """Return the scope of a function, with what it is given."""
        inner = Scope(scope, "function", node)
        name = getattr(node, "name", None)
        if name:
            scope.bind(name, "def", None, inner)
        else:
            inner.returns.append(node.body)
        given = node.args
        plain = list(getattr(given, "posonlyargs", [])) + given.args
        if scope.kind == "class" and plain:
            inner.me = plain[0].arg
        defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
        pairs = list(zip(plain, defaults)) + list(zip(given.kwonlyargs, given.kw_defaults))
        pairs += [(arg, None) for arg in (given.vararg, given.kwarg) if arg]
        for arg, default in pairs:
            inner.bind(arg.arg, "value", default, scope)
            if arg.annotation is not None:
                inner.bind(arg.arg, "hint", arg.annotation, scope)
        return inner

    def _import(self, node, scope):
        if isinstance(node, ast.Import):
            for alias in node.names:
                path = alias.name if alias.asname else alias.name.split(".")[0]
                self.roots.add(alias.name.split(".")[0])
                scope.bind(alias.asname or path, "path", path)
            return
        module = "." * (node.level or 0) + (node.module or "")
        self.roots.add(module.split(".")[0])
        for alias in node.names:
            name = alias.name
            if name == "*":
                self.module.stars.append(module)
                continue
            path = module.rstrip(".") + "." + name if module.strip(".") else name
            if name in KNOWN and name != "slim" and module.split(".")[0] != "gin":
                path = KNOWN[name]
            elif name == "backend" and (alias.asname or "").lower() in ("k", "ktf"):
                path = "K"
            scope.bind(alias.asname or name, "path", path)

    def _loop(self, target, held, scope):
        """Bind what a loop takes from `held`, or from that of which it is the zip or the like."""
        func, given = getattr(held, "func", None), getattr(held, "args", [])
        called, of = last_name(func), getattr(func, "value", None)
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = {"zip": given, "enumerate": [None, *given], "items": [None, of]}
            unknown = [None] * len(target.elts)
            for one, part in zip(target.elts, [*parts.get(called, ()), *unknown]):
                self._loop(one, part, scope)
        elif isinstance(target, ast.Name) and held:
            scope.bind(target.id, "part", of if called == "values" else held, scope)
        else:
            self._assign(target, None, scope)

    def _assign(self, target, value, scope, given="value"):
        kind = type(target).__name__
        if kind == "Name":
            scope.bind(target.id, given, value, scope)
        elif kind in ("Tuple", "List"):
            values = getattr(value, "elts", None)
            if values is None or len(values) != len(target.elts):
                values = [None] * len(target.elts)
            for part, one in zip(target.elts, values):
                self._assign(part, one, scope)
        elif kind == "Attribute" and isinstance(target.value, ast.Name):
            owner = scope.owner()
            if owner and target.value.id in (scope.me, "self"):
                bound = Binding(given, value, scope)
                owner.attributes.setdefault(target.attr, []).append(bound)
        elif kind == "Subscript" and isinstance(target.value, ast.Name):
            key = string_of(index_of(target))
            if key:
                scope.items.setdefault(target.value.id, []).append(key)
        elif kind == "Starred":
            self._assign(target.value, None, scope)

    def _record(self, site, kind):
        node, parent = site.node, site.parent
        if kind in ("With", "AsyncWith"):
            self.blocks.append(site)
        elif kind in ("Attribute", "Name"):
            word = node.attr if kind == "Attribute" else node.id
            if word in WORDS and getattr(parent, "func", None) is not node:
                self.sites.append(site)
        elif kind == "Call" or isinstance(node.ctx, ast.Store):
            self.sites.append(site)

    def calls_of(self, *names):
        """Return the sites of calls by a last name."""
        return [one for one in self.sites if last_name(getattr(one.node, "func", None)) in names]


def string_of(node):
    """Return the string that a node is, or None."""
    if node is not None and type(node).__name__ in ("Str", "Constant"):
        found = getattr(node, "value", getattr(node, "s", None))
        return found if isinstance(found, str) else None
    return None


def index_of(node):
    """Return what stands in the square brackets; before Python 3.9 it is wrapped."""
    inner = node.slice
    return inner.value if type(inner).__name__ == "Index" else inner


def last_name(node):
    """Return the last name in an expression: `opt` of self.opt[i]."""
    while node is not None:
        for field in ("attr", "id"):
            if hasattr(node, field):
                return getattr(node, field)
        node = getattr(node, "func", getattr(node, "value", None))
        if isinstance(node, (str, bytes, int, float)):
            return ""
    return ""
