"""What is old: the mapping, and the names by which a call is known."""

import re
from collections import namedtuple

from .held import held_mapping

RULES = held_mapping()  # the bundler writes down what it returns
BASE = ""  # the address of the site; the published file has it
VERSION = ""  # of pyproject.toml; a file that was made has it


class Fate(namedtuple("Fate", "verdict write page says silent", defaults=("", False))):
    """What became of an argument, what to write instead, and the page that settles it."""


RULE_FIELDS = (  # those from `of` on may be left out
    "id number names methods parameters arguments verdict write page "
    "of says code silent steps trap rename drop gone_since"
)


class Rule(
    namedtuple("Rule", RULE_FIELDS, defaults=("", "", "", False, False, False, {}, (), "2.0"))
):
    """What became of an old call: a fate of its own, and one for each of its arguments."""


def typed(kind, fields):
    """Return a tuple of `kind` with those of the fields that it has."""
    return kind(**{name: fields[name] for name in kind._fields if name in fields})


RULE = {}
for _fields in RULES["rules"]:
    _fates = {name: typed(Fate, fate) for name, fate in _fields["arguments"].items()}
    RULE[_fields["id"]] = typed(Rule, {**_fields, "arguments": _fates})
NAMES = {name: rule for rule in RULE.values() for name in rule.names}
METHODS = {}
for _rule in RULE.values():
    for _method in _rule.methods:
        METHODS.setdefault(_method, {})[_rule.of] = _rule
WORDS = {name.rsplit(".", 1)[-1] for name in NAMES} | set(METHODS) | {"total_loss", "GradientTape"}
# Words that are everywhere say nothing; what calls `train` of slim names slim somewhere.
OF_TAPES = {one for one in RULE["old keyword on a tape"].arguments if "_" in one}
TRIGGERS = sorted(WORDS - {"function", "gradient", "train"} | {"slim", "tf_slim"} | OF_TAPES)
TRIGGER_K = re.compile(r"\.function\b|\bfunction\s*\(")
VERDICTS = ("lost", "recipe", "gone", "renamed", "same")  # the worst first

# Names that mean TensorFlow wherever they are imported from, or if nothing binds them.
KNOWN = {"tf": "tensorflow", "tf1": "tensorflow", "tfv1": "tensorflow", "tf_v1": "tensorflow"}
KNOWN.update({"tensorflow": "tensorflow", "K": "K", "ktf": "tensorflow", "keras": "keras"})
KNOWN.update({"tfe": "tensorflow.contrib.eager", "slim": "tensorflow.contrib.slim"})
# Libraries with gradients, optimizers or functions of their own.
FOREIGN = """torch paddle gpflow scipy mindspore chainer mxnet theano lasagne jax optax flax z3
cvxpy pyomo ortools skopt nevergrad tensorflow_probability mesh_tensorflow autograd numpy iminuit
lmfit hyperopt optuna sympy pulp casadi gurobipy megengine oneflow sklearn skfuzzy pymoo deap cntk
caffe2 dde deepxde edward tfp mtf np qiskit qiskit_algorithms
qiskit_machine_learning pennylane""".split()
BACKEND = re.compile(
    r"^(?:(?:tf\.)(?:python\.|contrib\.)?)?(?:\w+\.)*?(?:tf_)?(?:keras|bert4keras)\.(?:\w+\.)*?backend\.(?!tensorflow_backend$)(?:tensorflow_backend\.)?"
)
OPTIMIZER = re.compile(
    r"^(?:tf\.(?:train|contrib|python|tpu|estimator)\.|horovod\.|hvd\.).*?\b(?:\w*Optimizer\w*|clip_gradients_by_norm)\b"
)
KERAS_OPTIMIZER = re.compile(
    r"^(?:tf\.|tf_|tf\.python\.|tf\.contrib\.|bert4keras\.|\w+\.)?keras\.(?:\w+\.)*optimizers?(?:_v[12])?\."
    r"|^(?:tf|tensorflow_addons)\.optimizers\."
)
HINT = re.compile(r"opt|train|solver|adam|sgd|rmsprop|momentum|learner|descent", re.I)
LISTED = re.compile(r"(?:variables|vars|params|weights|collection)$")  # names of lists
OLD_WORDS = {"global_step", "var_list", "grad_loss", "gate_gradients", "aggregation_method"}
OLD_WORDS |= {"colocate_gradients_with_ops"}


def triggers(text):
    """Tell whether a text has a word that a finding needs."""
    return any(word in text and re.search(rf"\b{word}\b", text) for word in TRIGGERS) or (
        "function" in text and TRIGGER_K.search(text) is not None
    )


def canonical(path):
    """Return a dotted path the way the rules write it: tf.gradients, K.function."""
    if path.startswith("tensorflow"):
        path = re.sub(r"^(?:tensorflow(?:_core)?|tensorflow_v1)(?=\.|$|\()", "tf", path)
    if path.startswith("tf.") and ".v" in path:
        path = re.sub(r"^tf((?:\.(?:compat|_api))?\.v[12])+(?=\.|$)", "tf", path)
    if ".memory_saving_gradients." in path:
        path = re.sub(r"^.*\.memory_saving_gradients\.", "memory_saving_gradients.", path)
    if "backend." in path:
        path = BACKEND.sub("K.", path)
    return path


def head(path):
    """Return the first name of a path."""
    return re.match(r"\w*", path)[0]


def ruled(path):
    """Return the rule for a canonical path, if there is one."""
    if path in NAMES:
        return NAMES[path]
    if ".tf" in path or "._tf." in path:  # a module that re-exports it
        again = re.match(r".*\.(?:tf|tf1|tfv1|_tf)\.(.+)", path)
        if again and "tf." + again[1] in NAMES:
            return NAMES["tf." + again[1]]
    return NAMES.get("*." + path.rsplit(".", 1)[-1])  # a copy of a class that went
