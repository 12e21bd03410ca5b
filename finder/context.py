"""What is known of one file before its calls are looked at."""

import ast
import re
from functools import lru_cache

from .meanings import Names
from .names import index_of, last_name
from .reading import Text
from .tokens import tokens

# What only code with TensorFlow or Keras says, its tokens apart; any matrix may be K.
TENSORFLOW = re.compile(
    r"tensorflow|keras|horovod|\b_?tf(?:1|v1|_v1|e)? \.|\btf_slim\b"
    r"|\bK \. (?:gradients|function|placeholder|variable|get_session|learning_phase)\b"
)
GRAPHS = re.compile(
    r"(?:placeholder|Session|get_collection)\(|tf\.contrib|global_step|train\.\w*Optimizer\b"
)
LOOPS = """while_loop map_fn cond case scan foldl foldr Defun RNN rnn LSTM GRU dynamic_decode expm
import_graph_def import_meta_graph create_op stop_recording caching_device""".split()
LOOP = re.compile(r"\b(?:\w*(?:RNN|rnn|LSTM|GRU)\w*|{})\b".format("|".join(LOOPS)))
LISTS = (ast.List, ast.Tuple, ast.ListComp, ast.Dict)
MANY = re.compile(r"s$|list|var|param|theta|collection", re.I)
STEPS = 50  # so many values are followed back
# What TensorFlow 2 has for graphs under its own names, and what not even its compat.v1 has.
KEPT = re.compile(
    r"tf\.(?:gradients|hessians|RegisterGradient|Graph\(\)\.\w+|python\.ops\.gradients\.\w+s)$"
    r"|tf\.python\.(?:training|tpu|framework\.ops|ops\.(?:gradient\w*_\w+|parallel_for\.\w+))\."
).match
# What takes no colocate_gradients_with_ops there, and what works in graphs, but in no tf.function.
REFUSES = re.compile(r"tf\.(?:gradients|hessians)$|.*(?:gradients_v2|HessiansV2)$").match
NOT_COMPILED = {"SyncReplicasOptimizer", "compute_gradient_error", "parallel_for batch_jacobian"}
LOST = re.compile(r"tf\.(?:contrib|estimator|keras)\b|K\.").match


class Code:
    """The text of one file, its tree and names, and what is so all over it."""

    def __init__(self, text, path=""):
        """Read `text`."""
        self.path, self.whole, self.source = path, text, Text(text)
        self.names = names = Names(self.source.tree)
        self.consumed = set()  # names that a finding has told of
        # The page for a call that takes the gradient of a gradient, and for that of the inner one.
        self.outer, self.inner = {}, {}
        self.overrides = "gradient_override_map" in text
        # Whether it does what a tape may not follow, in a graph of TensorFlow 1 at least.
        self.shut = self.overrides or (any(word in text for word in LOOPS) and LOOP.search(text))
        self.off = bool(names.calls_of("disable_eager_execution", "disable_v2_behavior"))
        told = names.calls_of("run_functions_eagerly", "experimental_run_functions_eagerly")
        told = [getattr(value, "value", True) for one in told for value in one.node.args]
        self.eagerly = any(value is not False for value in told)
        own = [one for one in names.classes if names.class_kind(one) in ("local", "foreign")]
        self.methods = {name for one in own for name in one.names}
        calls = (one for one in names.sites if isinstance(one.node, ast.Call) and one.node.args)
        calls = [one for one in calls if "tf.function" in names.paths(one.node.func, one.scope)]
        scopes = (names.functions(one.node.args[0], one.scope) for one in calls)
        self.compiled = {scope.node for found in scopes for scope in found}
        self.compiled |= {one.node.args[0] for one in calls}  # a lambda

    def builds_graphs(self):
        """Tell whether this file builds graphs."""
        return GRAPHS.search(self.whole) is not None

    def works(self, asked):
        """Return why an old call still works where it stands, or an empty text."""
        around = asked.site.around
        if not self._is_kept(asked):
            return ""
        while around:
            if around.kind == "def" and self._is_compiled(around):
                kept = self._is_kept_compiled(asked)
                return "it still works here, inside a tf.function" if kept else ""
            if any(self._is_graph(one, around.scope) for one in getattr(around.node, "items", ())):
                return "it still works here, inside a tf.Graph"
            around = around.around
        return "it still works while eager execution is off" if self.off else ""

    def _is_kept(self, asked):
        """Tell whether TensorFlow 2 has, for graphs, what an old call asks for."""
        rule, node = asked.rule, getattr(asked.site.node, "func", asked.site.node)
        if rule.trap or rule.gone_since != "2.0":
            return False
        held = node.value if rule.of == "optimizer" and hasattr(node, "value") else node
        found = self.names.dotted(held, asked.site.scope)
        refused = REFUSES if "colocate_gradients_with_ops" in asked.given else lambda path: False
        return (rule.of == "anything" and not found) or any(
            not LOST(one.path) if one.v1 else KEPT(one.path) and not refused(one.path)
            for one in found
        )

    def _is_kept_compiled(self, asked):
        """Tell whether what TensorFlow 2 has for graphs works in a tf.function, too."""
        loss = asked.given.get("loss")
        if asked.rule.id in ("compute_gradients", "minimize") and "var_list" not in asked.given:
            # No variable is in a function's collections; a tape sees those that a function reads.
            return loss is not None and self.is_function(loss.node, asked.site.scope)
        return asked.rule.id not in NOT_COMPILED

    def _is_compiled(self, around):
        marks = (self.names.paths(one, around.scope) for one in decorators(around.node))
        paths = {path.replace("()", "") for path in set().union(*marks)}
        return not self.eagerly and (around.node in self.compiled or "tf.function" in paths)

    def _is_graph(self, item, scope):
        func = getattr(item.context_expr, "func", None)
        if getattr(func, "attr", "") == "as_default" and "graph" in last_name(func.value):
            return True
        paths = self.names.paths(item.context_expr, scope)
        return any(re.match(r"tf\.Graph\(\)\.as_default\b", path) for path in paths)

    def is_function(self, node, scope):
        """Tell whether an expression is a function of this file, and no property."""
        if isinstance(node, ast.Lambda):
            return True
        found = isinstance(node, (ast.Name, ast.Attribute)) and self.names.meanings(node, scope)
        return bool(found) and all(
            one.kind == "def" and "property" not in map(last_name, decorators(one.of.node))
            for one in found
        )

    def asks(self, node, scope):
        """Return the old calls inside an expression: each needs a tape of its own."""
        found = []
        for one in ast.walk(node) if node is not None else ():
            if isinstance(one, ast.Call) and type(one.func) in (ast.Name, ast.Attribute):
                rules = (known.rule() for known in self.names.meanings(one.func, scope))
                found += [one] * any(rule and "tape." in rule.code for rule in rules)
        return found

    def derived(self, node, scope):
        """Return the old calls from which this file computes an expression, by names."""
        stack, seen, asked = [(node, scope)], set(), set()
        while stack and len(seen) < STEPS:
            node, scope = stack.pop()
            asked.update(self.asks(node, scope) if node not in seen else ())
            for one in ast.walk(node) if node is not None and node not in seen else ():
                if isinstance(one, ast.Name):
                    bound = [each for each in scope.bindings(one.id)[0] if each.kind == "value"]
                elif isinstance(one, ast.Attribute) and getattr(one.value, "id", "") == "self":
                    owner = scope.owner()
                    bound = owner.attributes.get(one.attr, ()) if owner else ()
                elif isinstance(one, ast.Call):
                    inner = self.names.functions(one.func, scope)
                    stack += [(value, each) for each in inner for value in each.returns[:8]]
                    continue
                else:
                    continue
                stack += [(each.value, each.scope) for each in bound]
            seen.add(node)
        return asked

    def mapped_gradients(self):
        """Return the names that the maps of this file give, or None if one is hidden."""
        found = set()
        for one in self.names.calls_of("gradient_override_map"):
            values = getattr(next(iter(one.node.args), None), "values", [None])
            found |= {self.names.constant(value, one.scope) for value in values}
        return found if found and None not in found else None

    def taken_apart(self, site):
        """Tell whether the result of a call is unpacked, iterated or zipped."""
        parent = site.parent
        if isinstance(parent, ast.Assign) and parent.value is site.node:
            target = parent.targets[0]
            if isinstance(target, ast.Name):
                return target.id in names_apart(self.source.tree)
            return isinstance(target, (ast.Tuple, ast.List))
        return any(one is site.node for one in parts_taken_of(parent))

    def is_list(self, node, scope):
        """Tell whether an expression may be a list of sources, by its name or its value."""
        if MANY.search(last_name(node)):
            return True
        bound = scope.bindings(node.id)[0] if isinstance(node, ast.Name) else ()
        return any(
            isinstance(one.value, LISTS) or MANY.search(last_name(one.value))
            for one in bound
            if one.kind != "part"
        )


@lru_cache(maxsize=1)
def is_of_tensorflow(text):
    """Tell whether code, and not its comments and strings alone, is of TensorFlow."""
    words = (word for kind, word, *_ in tokens(text) if kind != "string")
    return TENSORFLOW.search(" ".join(words)) is not None


def parts_taken_of(node):
    """Return what a node takes the parts of, as a loop or zip does."""
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter]
    if isinstance(node, ast.Call) and last_name(node.func) in ("zip", "enumerate", "list"):
        return node.args
    if isinstance(node, ast.Subscript) and type(index_of(node)).__name__ in ("Constant", "Num"):
        return [node.value]
    return [node.value] if isinstance(node, ast.Starred) else []


@lru_cache(maxsize=1)
def names_apart(tree):
    """Return the names of which a file takes the parts."""
    taken = (one for node in ast.walk(tree) for one in parts_taken_of(node))
    return {one.id for one in taken if isinstance(one, ast.Name)}


def decorators(node):
    """Return the decorators of a function; a lambda has none."""
    return getattr(node, "decorator_list", [])
