"""What to write instead, with the reader's own expressions, and what it leaves to the reader."""

import ast
import re
from collections import namedtuple

from .arguments import has_effect
from .names import last_name
from .rules import LISTED
from .tapes import is_one_tensor

SECOND = {"tf.gradients": "tape/higher_order/", "tf.hessians": "tape/higher_order/"}
TARGETS = ("ys", "loss", "output")
TRAINED = "how-to/train-through-a-gradient/"
# What a Keras model or layer has without values, by the names that these have.
SYMBOLS = {"input": "#gradient-by-the-input-saliency-fgsm"}
SYMBOLS["output"] = "#gradient-by-an-inner-layer-grad-cam-deepdream"
SYMBOLS.update(inputs=SYMBOLS["input"], outputs=SYMBOLS["output"])
KERAS = re.compile(r"model|layer", re.I)
# What TensorFlow 2 lacks, or what only a graph has something in.
GRAPH_ONLY = re.compile(
    r"tf\.(?:contrib\.|layers\.|placeholder|get_(?:variable|default|collection)|\w+_variables\b)|get_(?:collection|tensor_by_name)$"
).match
# The names of trainable variables, which a tape watches by itself.
VARIABLE = re.compile(r"var|param|weight|theta|kernel|bias|collection|^[wb]\d*$|^[wb]_", re.I)


class Notes(namedtuple("Notes", "texts silent page")):
    """What else a reader of a call must know, whether it changes silently, and a nearer page."""


def replacement(code, asked):
    """Return the rule's replacement with the reader's expressions, or an empty text.

    None is better than one that leaves out what changes the result.
    """
    wanted, known, given = asked.rule.code, asked.rule.arguments, asked.given
    if symbolic_source(code, asked):
        return ""
    left = [name for name in given if "{" + name not in wanted and name != "tape"]
    if any(
        name not in known or known[name].silent or has_effect(given[name].node) for name in left
    ):
        return ""
    texts = {name: expression(code, asked, name) for name in given}
    texts["receiver"] = receiver(code, asked)
    if "tape" in given:
        wanted = wanted.replace("tape.", "{tape}.")
    elif texts["receiver"].startswith("super(") and "tape." in wanted:
        return ""  # what calls this has the tape, or nobody has

    def optional(found):
        names = re.findall(r"\{(\w+)\}", found[1])
        return found[1] if all(name in texts for name in names) else ""

    wanted = re.sub(r"\[\[(.*?)\]\]", optional, wanted)
    parts = re.findall(r"\{(\w+)(\|[^}]*)?\}", wanted)
    if any(not texts.get(name, default) for name, default in parts):
        return ""
    return re.sub(r"\{(\w+)(?:\|([^}]*))?\}", lambda part: texts.get(part[1], part[2]), wanted)


def receiver(code, asked):
    """Return the object of a method, or a name for one that is made on the spot."""
    text = code.source.text[asked.start : asked.name]
    text = re.sub(r"\s*\\?\n\s*", "", text).strip().rstrip("\\. \t")
    return "optimizer" if "(" in text and not text.startswith("super(") else text


def is_none(node):
    """Tell whether a node is None, of which a list is no argument for a tape."""
    return type(node).__name__ in ("Constant", "NameConstant") and node.value is None


def expression(code, asked, name):
    """Return an argument's text; what is a function there is called, as a tape needs."""
    text, node, _ = asked.given[name]
    parts = getattr(node, "elts", ())
    # A tape takes a list in a list for several vectors, and one vector of numbers is that.
    nested = name == "grad_ys" and any(isinstance(one, (ast.List, ast.Tuple)) for one in parts)
    refused = nested or any(is_none(one) for one in parts)
    scope = asked.site.scope
    if all_trained(code, node, scope):
        return "model.trainable_variables"
    if text == "…" or refused or asks_graph(code, node, scope) or code.asks(node, scope):
        return ""
    if name not in ("loss", "var_list"):
        return text
    if name == "var_list" and node is not None and not code.is_function(node, scope):
        return variable_list(code, node, text, scope)
    if isinstance(node, ast.Lambda):
        return re.sub(r"^lambda *: *", "", text) if text[6:].lstrip()[:1] == ":" else ""
    keras = asked.rule.of == "keras optimizer" and name == "loss" and "tape" not in asked.given
    called = keras and isinstance(node, (ast.Name, ast.Attribute))
    return text + "()" if called or code.is_function(node, scope) else text


def variable_list(code, node, text, scope):
    """Return the text of a list of variables, or none for what a loop takes from who knows what."""
    loops = [last_name(one.value) for one in scope.bindings(text)[0] if one.kind == "part"]
    if is_one_tensor(code, node, scope) or (loops and all(map(LISTED.search, loops))):
        return f"[{text}]"
    absent = any(is_none(one.value) for one in scope.bindings(text)[0])
    return "" if loops and text[-1] != "s" else text + " or model.trainable_variables" * absent


def asks_graph(code, node, scope):
    """Tell whether an expression asks a graph for what TensorFlow 2 does not have."""
    calls = (one.func for one in ast.walk(node or ast.Pass()) if isinstance(one, ast.Call))
    paths = ((last_name(one), *code.names.paths(one, scope)) for one in calls)
    return any(GRAPH_ONLY(path) for each in paths for path in each)


def all_trained(code, node, scope):
    """Tell whether an expression asks the graph for all of its trainable variables."""
    call = isinstance(node, ast.Call) and not node.args and not node.keywords
    return call and "tf.trainable_variables" in code.names.paths(node.func, scope)


def symbolic_source(code, asked):
    """Return what among the sources, or else the target, Keras has no values for, or None."""
    for name in ("variables", "xs", "params", "loss", "ys"):
        passed = asked.given.get(name)
        if not passed or passed.node is None or "tape." not in asked.rule.code:
            continue
        names = [one.id for one in ast.walk(passed.node) if isinstance(one, ast.Name)]
        bound = [one.value for name in names for one in asked.site.scope.bindings(name)[0]]
        values = [one for one in bound if isinstance(one, ast.AST)]
        for one in (node for value in (passed.node, *values) for node in ast.walk(value)):
            if getattr(one, "attr", "") in SYMBOLS and KERAS.search(last_name(one.value)):
                return one
    return None


def unwatched(code, asked):
    """Return the sources' text if one may be a tensor, which a tape does not watch, or None."""
    sources = asked.first_of("xs", "variables")
    if not sources or sources.node is None:
        return None
    for one in getattr(sources.node, "elts", None) or [sources.node]:
        paths = code.names.paths(one, asked.site.scope)
        made = any(re.match(r"tf\.(Variable|get_variable)\(\)", path) for path in paths)
        names = map(last_name, ast.walk(one) if isinstance(one, ast.Call) else [one])
        if not made and not any(map(VARIABLE.search, names)):
            return sources.text
    return None


def notes_on_call(code, asked, listed):
    """Return the notes on a call; `listed` tells whether one source became a list of one."""
    rule, site, given, silent = asked.rule, asked.site, asked.given, False
    texts = [rule.says] if rule.says else []
    texts += [f"what {name} holds is not visible" for name in given if name[0] == "*"]
    sources = asked.first_of("xs", "variables", "params")
    if listed:
        texts.append("the list of one source gives a list of one gradient, as before")
    elif sources and not is_several(sources.node) and rule.code.startswith("tape.gradient"):
        if isinstance(site.parent, ast.Subscript) and site.parent.value is site.node:
            sure = is_one_tensor(code, sources.node, site.scope)
            why = f": {sources.text} is one tensor"
            unsure = f" if {sources.text} is one tensor, not a list"
            texts.append("drop the [0]" + (why if sure else unsure))
            silent = True
        elif sources.node is not None and not LISTED.search(last_name(sources.node)):
            texts.append("one tensor as source gives one gradient, not a list")
            if code.taken_apart(site) and not code.is_list(sources.node, site.scope):
                texts.append("what is taken apart here would be the rows of that gradient")
                silent = True
    if rule.id == "tf.gradients" and len(getattr(site.node, "args", ())) > 4:
        texts.append("the fifth argument by position is another one in TF 2's tf.gradients")
        silent = True
    if site.node in code.inner:
        texts.append("its gradient is taken again: its tape stands inside the block of the other")
    if site.node in code.outer:
        texts.append("a gradient of a gradient needs two tapes, one inside the other")
    page = code.outer.get(site.node) or code.inner.get(site.node, "")
    symbol = symbolic_source(code, asked)
    if symbol:
        told = f"{last_name(symbol.value)}.{symbol.attr}"
        texts.append(f"{told} has no values: call the model on data, inside the tape's block")
        page = page or "old-api/keras/" + SYMBOLS[symbol.attr]
    return Notes(texts, silent, page)


def is_several(node):
    """Tell whether an expression is a list, or another collection, for certain."""
    made = isinstance(node, ast.Call) and last_name(node.func) in ("list", "sorted", "tuple")
    return made or isinstance(node, (ast.List, ast.Tuple, ast.ListComp, ast.Dict))


def inner_calls(code, asked):
    """Return the old calls whose gradients an old call takes the gradient of."""
    scope, target = asked.site.scope, asked.first_of(*TARGETS)
    if "tape." not in asked.rule.code and not asked.rule.id == "tf.hessians":
        return set()
    found = {one for passed in asked.given.values() for one in code.asks(passed.node, scope)}
    return found | (code.derived(target.node, scope) if target else set()) - {asked.site.node}


def page_of_task(code, asked):
    """Return the page of what the gradient of a gradient is for, as far as it shows."""
    if asked.rule.id not in SECOND:
        return TRAINED
    node = asked.first_of(*TARGETS)
    node, name = node and node.node, last_name(node and node.node)
    bound = asked.site.scope.bindings(name)[0] if isinstance(node, ast.Name) else ()
    products = (ast.walk(one.value) for one in bound if isinstance(one.value, ast.AST))
    parts = [one for walked in [ast.walk(node or ast.Pass()), *products] for one in walked]
    if "grad_ys" in asked.given or any(isinstance(one, ast.Mult) for one in parts):
        return "how-to/hvp/"
    by_name = re.search(r"_[xyzt]{1,3}$", name)  # u_x
    return TRAINED + "#pinn" if by_name else SECOND[asked.rule.id]


def notes_on_replacement(code, asked, write, hunk):
    """Return what a replacement leaves to the reader, as texts."""
    texts, wanted = [], asked.rule.code
    made = "(" in code.source.text[asked.start : asked.name]
    if made and "{receiver}" in wanted and receiver(code, asked) == "optimizer":
        texts.append("make the optimizer once, before the first step")
    target = asked.first_of(*TARGETS)
    if "tape." in wanted and target and target.node is not None and not hunk:
        if any(isinstance(one, ast.Call) for one in ast.walk(target.node)):
            texts.append("compute the target inside the tape's block; outside, nothing records it")
    own = " ".join(one.text for one in asked.given.values())
    source = "tape" not in asked.given and not hunk and wanted.startswith("tape.gradient")
    source = source and unwatched(code, asked)
    if source and len(source) < 60:
        texts.append(f"tape.watch({source}) before the forward pass, unless it is a variable")
    if "model.trainable_variables" in write and "model.trainable_variables" not in own:
        texts.append("model.trainable_variables stands for the variables that you train")
    return texts
