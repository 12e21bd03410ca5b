"""Compat: the two lines with which a program of TensorFlow 1 goes on in TensorFlow 2."""

import ast
import re

from .context import Code
from .reading import Edit

# What builds or runs a graph, and is no name of TensorFlow 2.
OLD = re.compile(
    r"tf\.(?:Session|InteractiveSession|placeholder|get_variable|variable_scope|get_collection"
    r"|global_variables_initializer|trainable_variables|train\.\w+Optimizer)$"
)
# What tensorflow.compat.v1 never had, has no longer beside Keras 3, or what runs eagerly.
WITHOUT = (
    r"\b{}\.(contrib|keras|layers|estimator|nn\.rnn_cell|function|GradientTape|compat\b"
    r"|python|pywrap_tensorflow|enable_\w+|disable_\w+)\b"
)
BESIDES = r"\b(?:tf_)?keras\b|\b(?:tf_slim|tflearn|tensorlayer|sonnet)\b"


def compat_edits(text):
    """Return the edits that let a program which builds graphs run on TensorFlow 2 as it is.

    Args:
        text: Python code, whose lines end with a newline; without old names, nothing is to do.

    Raises:
        ValueError: It would not run so, for all that can be seen. The message says why.
    """
    code = Code(text)
    calls = [one for one in code.names.sites if isinstance(one.node, ast.Call)]
    if not any(OLD.match(p) for one in calls for p in code.names.paths(one.node.func, one.scope)):
        return []
    if code.source.how:
        raise ValueError("not Python 3")
    kinds = (ast.Import, ast.ImportFrom)
    imports = [one for one in ast.walk(code.source.tree) if isinstance(one, kinds)]
    ours = [one for one in imports if "tensorflow" in ast.dump(one)]
    line = code.source.given[ours[0].lineno - 1]
    found = re.fullmatch(r"import +tensorflow(?: +as +(\w+))?[ \t]*(?:#.*)?", line)
    if len(ours) > 1 or not found:
        raise ValueError("TensorFlow is imported otherwise than by `import tensorflow as tf` alone")
    name = found[1] or "tensorflow"
    wanting = re.search(WITHOUT.format(name), text) or re.search(BESIDES, text)
    if wanting:
        raise ValueError(f"it uses {wanting[0]}")
    start = code.source.offset(ours[0])
    new = f"import tensorflow.compat.v1 as {name}"
    tail = line[found.end(1) if found[1] else len("import tensorflow") :].rstrip()
    return [Edit(start, start + len(line), f"{new}{tail}\n\n{name}.disable_v2_behavior()")]
