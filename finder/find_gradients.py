"""Find what TensorFlow code asks of the old gradient functions, and say what to write instead.

    python find_gradients.py src/ notebook.ipynb

One file, standard library only, Python 3.7 and later. It reads and never runs your code.
Names are followed through imports, aliases and attributes. What is not Python 3 is mended
first (Python 2, notebooks), or searched for names where that fails; both are said.
"""

import ast
import bisect
import json
import re
import sys


def _beside(name):
    """Return the text of the file called `name` beside this one."""
    with open(__file__[: -len("find_gradients.py")] + name, encoding="utf-8") as file:
        return file.read()


RULES = json.loads(_beside("rules.json"))
BASE = ""  # the address of the site; the published file has it
RULE = {rule["id"]: rule for rule in RULES["rules"]}
NAMES = {name: rule for rule in RULES["rules"] for name in rule["names"]}
METHODS = {}
for _rule in RULES["rules"]:
    for _method in _rule["methods"]:
        METHODS.setdefault(_method, {})[_rule["of"]] = _rule
WORDS = {name.rsplit(".", 1)[-1] for name in NAMES} | set(METHODS) | {"total_loss", "GradientTape"}
TRIGGERS = sorted(WORDS - {"function", "gradient"})
TRIGGER_K = re.compile(r"\.function\b|\bfunction\s*\(")
VERDICTS = ("lost", "recipe", "gone", "renamed", "same")  # the worst first

# Names that mean TensorFlow wherever they are imported from, or if nothing binds them.
KNOWN = {"tf": "tensorflow", "tf1": "tensorflow", "tfv1": "tensorflow", "tf_v1": "tensorflow"}
KNOWN.update({"tensorflow": "tensorflow", "K": "K", "ktf": "tensorflow", "keras": "keras"})
KNOWN.update({"tfe": "tensorflow.contrib.eager", "slim": "tensorflow.contrib.slim"})
# Libraries with gradients, optimizers or functions of their own.
FOREIGN = set(
    (
        "torch paddle gpflow scipy mindspore chainer mxnet theano lasagne jax optax flax z3 "
        "cvxpy pyomo ortools skopt nevergrad tensorflow_probability mesh_tensorflow autograd "
        "numpy iminuit lmfit hyperopt optuna sympy pulp casadi gurobipy megengine oneflow "
        "skfuzzy pymoo deap cntk caffe2 dde deepxde edward tfp mtf np"
    ).split()
)
# Those whose optimizers have a minimize, too: there a name alone proves nothing.
OTHERS = {"gpflow", "paddle", "skopt", "z3", "nevergrad", "mindspore", "oneflow"}
BACKEND = re.compile(
    r"^(?:(?:tf\.)(?:python\.|contrib\.)?)?(?:\w+\.)*?(?:tf_)?(?:keras|bert4keras)\.(?:\w+\.)*?backend\."
)
OPTIMIZER = re.compile(
    r"^(?:tf\.(?:train|contrib|python|tpu|estimator)\.|horovod\.|hvd\.).*?\b(\w*Optimizer\w*)\b"
)
KERAS_OPTIMIZER = re.compile(
    r"^(?:tf\.|tf_|tf\.python\.|tf\.contrib\.|bert4keras\.|\w+\.)?keras\.(?:\w+\.)*optimizers?(?:_v[12])?\."
    r"|^tf\.optimizers\."
)
HINT = re.compile(r"opt|train|solver|adam|sgd|rmsprop|momentum|learner|descent", re.I)
LOOPS = (
    "while_loop map_fn cond case scan foldl foldr Defun RNN rnn LSTM GRU dynamic_decode expm "
    "import_graph_def import_meta_graph create_op stop_recording caching_device"
).split()
LOOP = re.compile(r"\b(?:\w*(?:RNN|rnn|LSTM|GRU)\w*|{})\b".format("|".join(LOOPS)))
GRAPH_WORDS = ("placeholder(", "Session(", "get_collection(", "tf.contrib", "global_step")
SINGLE = re.compile(
    r"tf\.(?:Variable|get_variable|placeholder|constant|convert_to_tensor|ones|zeros|random\.\w+)\(\)$"
)
# With these, a function is not what it seems once a tape is in it.
NAMES_ALL = {"tape", "locals", "vars", "dir"}
# What gives a tensor on which nothing can depend yet; tf.cast, say, may give its argument.
NEW = re.compile(
    r"tf\.(?:math\.|linalg\.|nn\.)?(?:Variable|placeholder|constant|zeros|ones|zeros_like|ones_like"
    r"|random\.\w+|random_\w+|identity|stop_gradient|reshape|concat|stack|transpose|expand_dims"
    r"|squeeze|tile|gather|matmul|add|subtract|multiply|divide|exp|sqrt|square|tanh|sigmoid"
    r"|clip_by_value)$"
).match
OLD_WORDS = {"global_step", "var_list", "grad_loss", "gate_gradients", "aggregation_method"}
OLD_WORDS |= {"colocate_gradients_with_ops"}


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
    last = "*." + path.replace(" ", ".").rsplit(".", 1)[-1]  # a copy of a class that went
    return None if path.startswith("local ") else NAMES.get(last)


# Text: tokens are read by one regular expression, which takes broken code, too.

TOKEN = re.compile(
    r'''(?P<string>[rRbBuUfFtT]{0,2}(?:"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'''
    r"""|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"""
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'))"""
    r"""|(?P<comment>\#[^\n]*)|(?P<name>[^\W\d]\w*)|(?P<number>\d[\w.]*)"""
    r"""|(?P<newline>\n)|(?P<space>(?:[ \t\f\r]|\\\r?\n)+)|(?P<op>.)""",
    re.S,
)


def scan(text, start=0, stop=None):
    """Yield kind, text, start and end of each token; the page does this in JavaScript."""
    for found in TOKEN.finditer(text, start, len(text) if stop is None else stop):
        yield found.lastgroup, found[0], found.start(), found.end()


def tokens(text, start=0, stop=None):
    """Return those that are neither space nor comment."""
    return (one for one in scan(text, start, stop) if one[0] not in ("space", "comment"))


def call_at(text, start, before, stop):
    """Return the place of the name, and the arguments, of a call whose expression is at `start`.

    `before` calls stand in the expression before its own bracket, which closes at `stop` at the
    latest. An argument is its name or stars, and the places of its name, start and end, and of
    the comma before it.
    """
    depth, name, seen = 0, None, before
    last = ""
    for kind, word, at, end in tokens(text, start, stop):
        if kind == "op" and word in "([{":
            if depth == 0 and word == "(" and last:
                if not seen:
                    return name, arguments(text, end, stop)
                seen -= 1
            depth += 1
        elif kind == "op" and word in ")]}":
            depth -= 1
            last = word
            if depth < 0:
                return start, None
        elif depth == 0 and kind == "name":
            name, last = at, word
        elif depth == 0 and kind != "newline" and word not in ".@" and kind != "string":
            return start, None
    return start, None


def arguments(text, start, stop):
    """Return the arguments of a call whose bracket opened just before `start`."""
    found, depth, first, words, lambdas, last, comma = [], 0, None, [], 0, start, None

    def close():
        if words:
            name, at = "", first
            if words[0] in ("*", "**"):
                name, at = words[0], first + len(words[0])
            elif len(words) > 1 and words[1] == "=":
                name, at = words[0], None
            found.append([name, first, at, last, comma])

    for kind, word, at, end in tokens(text, start, stop):
        if kind == "newline":
            continue
        if depth == 0 and (word == ")" or (word == "," and not lambdas)):
            close()
            first, words, comma = None, [], at
            if word == ")":
                return found
            continue
        if kind == "op" and word in "([{":
            depth += 1
        elif kind == "op" and word in ")]}":
            depth -= 1
        elif depth == 0 and word == "lambda":
            lambdas += 1
        elif depth == 0 and word == ":" and lambdas:
            lambdas -= 1
        if first is None:
            first = at
        if len(words) == 1 and words[0] == "*" and word == "*":
            words[0] = "**"
        elif len(words) < 3:
            words.append(word)
            if len(words) == 3 and words[1] == "=" and words[2] == "=":
                words[1] = "=="
        last = end
    return None


def value(text, argument):
    """Return the expression of an argument on one line, without comments."""
    _name, first, at, end, _comma = argument
    if at is None:
        at = text.index("=", first) + 1
    code, before, last = "", "", 0
    for kind, word, start, stop in tokens(text[at:end]):
        if kind != "newline":
            if start > last and before not in ("", "(", "[") and word not in (")", "]", ","):
                code += " "
            code, before, last = code + word, word, stop
    return code


def triggers(text):
    """Tell whether a text has a word that a finding needs."""
    return any(word in text for word in TRIGGERS) or (
        "function" in text and TRIGGER_K.search(text) is not None
    )


# Reading: a file becomes a tree, however old it is.


def logical_lines(text, words):
    """Yield start and end of each logical line, brackets and strings closed."""
    start = depth = 0
    for kind, word, _, end in words:
        if kind == "op" and word in "([{":
            depth += 1
        elif kind == "op" and word in ")]}":
            depth = max(0, depth - 1)
        elif kind == "newline" and not depth:
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


MAGIC = re.compile(r"^[^\S\n]*(?:[%!?]|[\w.]+\?+[^\S\n]*$)[^\n]*", re.M)


def magics(text):
    """Yield start and end of each command of IPython: a line that continues no other."""
    at = 0
    while at is not None:
        command = MAGIC.match(text, at)
        if command:
            yield command.span()
            at = command.end() + 1
        elif MAGIC.search(text, at):
            lines = (end for _, end in logical_lines(text, tokens(text, at)))
            at = next((end for end in lines if MAGIC.match(text, end)), None)
        else:
            at = None


PRINT = re.compile(
    r"^(\s*|.*?[:;]\s*)(print|exec)(?:[ \t]+(?![ \t=(]|in\b)|(?=[\"'])|[ \t]*$)", re.S
)
# What a line must hold, else looking takes most of the time; what is to be mended, and how.
REPAIRS = [
    (hint, re.compile(pattern), new)
    for hints, pattern, new in (
        ("except", r"^(\s*except\b[^:,()]*(?:\([^()]*\))?[^:,()]*), *(\w+) *:", r"\1 as \2:"),
        ("raise", r"^(\s*raise\b[^,()]+),", r"\1;"),
        ("lambda", r"\blambda *\(([^()]*)\) *:", r"lambda  \1 :"),
        ("00 01 02 03 04 05 06 07", r"(?<![.\w])(?<![eE][-+])0(?=[0-7]+\b(?!\.))", " "),
        ("0x 0l 1l 2l 3l 4l 5l 6l 7l 8l 9l", r"\b(\d+|0[xX][0-9a-fA-F]+)[lL]\b", r"\1 "),
        ("ur", r"\b[uU]([rR]['\"])", r" \1"),
        ("<>", r"<>", "!="),
        ("async", r"\basync\b(?=\s*[=,)])", "asynC"),
        ("`", r"`([^`\n]*)`", r"(\1)"),
    )
    for hint in hints.split()
]


def repaired(line):
    """Return a logical line of Python 2 as Python 3, names at their places."""
    bare = line.rstrip()
    tail = line[len(bare) :]
    found = ("print" in bare or "exec" in bare) and PRINT.match(bare)
    if found and "\n" not in found[1]:
        rest = bare[found.end() :]
        rest = re.sub(r"^>>", "  ", rest)
        head = bare[: found.end()]
        head = head[:-1] + "(" if head[-1:] in " \t" else head + "("
        comment = [at for kind, _, at, _ in scan(rest) if kind == "comment"]
        cut = comment[0] if comment else len(rest)
        code = rest[:cut].rstrip()
        bare = head + code + ")" + rest[len(code) :]
    small = bare.lower()
    for hint, pattern, new in REPAIRS:
        if hint in small:
            bare = pattern.sub(new, bare)
    return bare + tail


def parses(code):
    """Return the tree of `code`, or None."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def alone(line):
    """Tell whether a logical line is Python, apart from its neighbours."""
    code = line.strip()
    if not code or code[0] in "#@":
        return True
    if re.match(r"(?:elif|else|except|finally|case)\b", code):
        code = re.sub(r"^elif\b", "if", code)
        code = re.sub(r"^(?:else|finally)\b", "if 1", code)
        code = re.sub(r"^except\b *([^:]*?)(?: +as +\w+)? *:", r"if (\1) or 1:", code)
        code = re.sub(r"if \(\) or", "if", code)
    tree = parses(code) or parses(code + " pass") or parses("async def f():\n " + code)
    return tree is not None


def deep(words):
    """Tell whether a line nests or chains so much that the parser itself may fail."""
    depth = worst = chain = 0
    for kind, word, _, _ in words:
        if kind == "op":
            if word in "([{":
                depth += 1
                worst = max(worst, depth)
            elif word in ")]}":
                depth -= 1
            elif word in ",;":
                chain = 0
            else:
                chain += 1
                worst = max(worst, chain // 10)
        elif kind == "newline" and depth <= 0:
            depth = chain = 0
    return worst > 90


def line_starts(text):
    """Return where each line of a text starts."""
    starts = [0]
    for line in text.split("\n")[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return starts


class Text:
    """The text of one file as code, its tree, and what had to be left out of the tree."""

    def __init__(self, text):
        """Read `text`, mending what is not Python 3."""
        self.text, self.given, self.how, self.left = text, text.split("\n"), "", []
        self.tree = None if len(text) > 20000 and self._dangerous(text) else parses(text)
        if self.tree is None and text.strip():
            self._mend()
        self.starts = line_starts(self.text)

    @staticmethod
    def _dangerous(text):
        return max(map(len, text.split("\n"))) > 10000 and deep(tokens(text))

    def _mend(self):
        """Repair Python 2, then leave out the lines that still are not Python."""
        text = self.text
        if "\t" in text:  # Python 2 took eight columns for a tab
            text = re.sub(r"^[ \t]+", lambda found: found[0].expandtabs(8), text, flags=re.M)
        self.text = text
        code = text
        for start, end in magics(text):
            code = code[:start] + "#" * (end - start) + code[end:]
        words = list(tokens(code))
        spans = list(logical_lines(code, words))
        self.deep = deep(words)
        mended = [repaired(code[a:b]) for a, b in spans]
        self.tree = None if self.deep else parses("".join(mended))
        if self.tree is not None:
            self.how = "mended"
            self._set(mended)
            return
        if self._without_worst(spans, mended):
            return
        kept = []
        for (a, b), line in zip(spans, mended):
            if len(line) < 5000 and alone(line):
                kept.append(line)
            else:
                kept.append(self._blank(line))
                self.left.append((a, b))
        self.how = "words"
        self._set(kept)
        self.tree = parses(self.text) or self._flat(kept)
        self.original = text

    def _without_worst(self, spans, mended):
        """Leave out the lines that the parser names, a few; tell whether the rest is Python."""
        kept, starts, number = list(mended), [], 1
        for line in mended:
            starts.append(number)
            number += line.count("\n")
        for _ in range(10 if len(self.text) < 1 << 20 else 2):
            try:
                self.tree = None if self.deep else ast.parse("".join(kept))
            except SyntaxError as error:
                at = bisect.bisect_right(starts, error.lineno or 1) - 1
                if "expected an indented block" in str(error.msg) and self._close(kept, at):
                    continue
                again = kept[at] != mended[at]
                kept[at] = self._blank(mended[at], ":" if again else "")
                self.left.append(spans[at])
                continue
            except (ValueError, RecursionError, MemoryError, OverflowError):
                pass
            break
        if self.tree is None:
            self.left = []
            return False
        self.how, self.original = "words" if self.left else "mended", self.text
        self._set(kept)
        return True

    @staticmethod
    def _close(kept, at):
        """Give the last line of code up to `at` a body, if it opens an empty block."""
        for number in range(at, -1, -1):
            line = kept[number]
            words = [(word, end) for kind, word, _, end in tokens(line) if kind != "newline"]
            if words and words[-1][0] == ":":
                end = words[-1][1]
                kept[number] = line[:end] + " pass" + line[end:]
                return True
            if words and number < at:
                break
        return False

    def _set(self, lines):
        self.text = "".join(lines)

    @staticmethod
    def _blank(line, closed=""):
        """Return a line that does nothing, at the indentation of `line`."""
        indent = re.match(r"[ \t]*", line)[0]
        opens = line.rstrip().endswith(":") and not closed
        word = "if 1:" if opens else "pass"
        count = line.count("\n")
        body = line.replace("\n", "")
        fill = word + " #" if len(body) > len(indent + word) + 1 else word
        return (indent + fill).ljust(len(body)) + "\n" * count

    def _flat(self, lines):
        """Return a tree of the lines that are Python, one by one, without blocks."""
        body, number = [], 1
        for line in lines:
            code = line.strip()
            tree = None
            words = ("=", "import", "def", "class", "with")
            if any(word in line for word in words) or triggers(line):
                tail = "\ndef f(): pass" if code[:1] == "@" else " pass"
                tree = parses(code) or parses(code + tail)
            if tree:
                ahead = len(line) - len(line.lstrip())
                extra = line[:ahead].count("\n")
                column = ahead - (line.rfind("\n", 0, ahead) + 1)
                for node in ast.walk(tree):
                    for name in ("", "end_"):
                        if getattr(node, name + "col_offset", None) is not None:
                            row = getattr(node, name + "lineno")
                            if row == 1:
                                at = getattr(node, name + "col_offset")
                                setattr(node, name + "col_offset", at + column)
                            setattr(node, name + "lineno", row + number - 1 + extra)
                body += tree.body
            number += line.count("\n")
        return ast.Module(body=body, type_ignores=[])

    def offset(self, node):
        """Return where `node` stands in the text."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node):
        """Return where `node` ends; before Python 3.8, nobody knows."""
        line = getattr(node, "end_lineno", None)
        return None if line is None else self._offset(line, node.end_col_offset)

    def _offset(self, line, column):
        """Return the place of a line and a column; the parser counts bytes."""
        if line > len(self.starts):
            return len(self.text)
        start = self.starts[line - 1]
        ahead = self.text[start : start + column]
        if ahead.isascii() if hasattr(ahead, "isascii") else len(ahead.encode()) == len(ahead):
            return start + column
        return start + len(ahead.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))

    def under_tape(self, block, first, place, watch, new):
        """Return a hunk that puts the statements from `first` to before `place` under a tape.

        In the one at `place`, the text from `new[0]` to `new[1]` becomes `new[2]`. Where a line is
        shared, or a string has several, the hunk is empty.
        """
        lines = self.text.split("\n")
        rows = [one.lineno for one in block[: place + 2]] + [len(lines) + 1]
        ends = [after - 1 for after in rows[1:]]
        start, stop, call = rows[first], ends[place - 1], rows[place]
        while stop > start and not re.match(r"[^\S\n]*[^\s#]", lines[stop - 1]):
            stop -= 1
        end, rest = self.place(new[1])[0], self.text[new[1] :]
        indent = re.match(r"[ \t]*", lines[start - 1])[0]
        begins = self.starts[start - 1]
        words = list(scan(self.text, begins, self.starts[call - 1]))
        tail = next((at for kind, word, at, _ in tokens(rest) if kind == "newline"), len(rest))
        if (
            len(set(rows[first : place + 2])) < len(rows[first : place + 2])
            or any(kind == "string" and "\n" in word for kind, word, _, _ in words)
            or any(len(indent) != one.col_offset for one in block[first : place + 1])
            or len(set(indent)) > 1
            or (start > 1 and lines[start - 2].endswith("\\"))
            or any(one[0] == "comment" for one in scan(self.text, *new[:2]))
            or self.place(new[0])[0] != call
            or end > ends[place]
            or lines[start - 1 : end] != self.given[start - 1 : end]  # mended
        ):
            return ""
        step = "\t" if "\t" in indent else "    "
        old, between, last = lines[start - 1 : stop], lines[stop : call - 1], lines[call - 1 : end]
        column = new[0] - self.starts[call - 1]
        ending = rest[:tail].split("\n")[0]
        changed = lines[call - 1][:column] + new[2] + (ending if ending.strip() else "")
        made = [indent + "with tf.GradientTape() as tape:"]
        made += [indent + step + watch]
        made += [step + line if line.strip() else line for line in old]
        body = ["-" + line for line in old] + ["+" + line for line in made]
        body += [" " + line for line in between]
        body += ["-" + line for line in last] + ["+" + changed]
        count = end - start + 1
        sizes = f"@@ -{start},{count} +{start},{count + len(made) - len(old) + 1 - len(last)} @@"
        return "\n".join([sizes, *body])

    def place(self, offset):
        """Return line and column of an offset, both from 1."""
        line = bisect.bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


# Names: who is bound to what, without running anything.


BINDS = set(
    "FunctionDef AsyncFunctionDef Lambda ClassDef Import ImportFrom Assign AnnAssign".split()
)
BINDS |= set("AugAssign NamedExpr For AsyncFor comprehension With AsyncWith Return Global".split())
LOOKS = {"Call", "Attribute", "Name", "Subscript", "With", "AsyncWith"}
LEAVES = {type(None), str, int, ast.Load, ast.Store, type(ast.parse("1").body[0].value)}


class Scope:
    """The names of a module, function or class, and of its instances."""

    def __init__(self, parent=None, kind="module", node=None):
        """Start with no names."""
        self.parent, self.kind, self.node = parent, kind, node
        self.names, self.attributes, self.items, self.returns = {}, {}, {}, []
        self.stars, self.me = [], None

    def bind(self, name, *what):
        """Add something that `name` may be."""
        self.names.setdefault(name, []).append(what)

    def owner(self):
        """Return the class around, or None."""
        scope = self
        while scope and scope.kind != "class":
            scope = scope.parent
        return scope

    def find(self, name):
        """Return all that `name` may be, and where; class bodies are not seen from inside."""
        scope = self
        while scope:
            if name in scope.names and (scope.kind != "class" or scope is self):
                return scope.names[name], scope
            scope = scope.parent
        return [], None


class Site:
    """A place to look at: a call, or a name that is no call."""

    def __init__(self, node, scope, around, parent):
        """Remember where it stands."""
        self.node, self.scope, self.around, self.parent = node, scope, around, parent


class Names:
    """All bindings of one tree, and the sites in it."""

    def __init__(self, tree):
        """Walk the tree once, without recursion."""
        self.module = Scope()
        self.sites, self.classes, self.blocks, self.graphs = [], [], [], set()
        self._memo = {}
        self.roots = set()
        stack = [(tree, self.module, None, None)]
        while stack:
            node, scope, around, parent = stack.pop()
            kind, inner, context = type(node).__name__, scope, around
            if kind in BINDS:
                inner, context = self._enter(node, scope, around, kind)
            if kind in LOOKS:
                self._record(node, scope, around, parent, kind)
            outside = inner is not scope
            for field in node._fields:
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
            return self._function(node, scope, around)
        if kind == "ClassDef":
            inner = Scope(scope, "class", node)
            self.classes.append(inner)
            scope.bind(node.name, "class", len(self.classes) - 1)
            return inner, around
        if kind in ("With", "AsyncWith"):
            for item in node.items:
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, item.context_expr, scope)
            return scope, ("with", node, scope, around)
        self._bind(node, scope, kind)
        return scope, around

    def _bind(self, node, scope, kind):
        if kind in ("Import", "ImportFrom"):
            self._import(node, scope)
        elif kind == "Assign":
            for target in node.targets:
                self._assign(target, node.value, scope)
        elif kind in ("AnnAssign", "AugAssign", "NamedExpr") and node.value is not None:
            self._assign(node.target, node.value, scope)
        elif kind in ("For", "AsyncFor", "comprehension"):
            self._assign(node.target, None, scope)
        elif kind == "Return" and node.value is not None:
            scope.returns.append(node.value)
        elif kind == "Global":
            for name in node.names:
                scope.names[name] = self.module.names.setdefault(name, [])

    def _function(self, node, scope, around):
        inner = Scope(scope, "function", node)
        name = getattr(node, "name", None)
        if name:
            scope.bind(name, "def", inner)
        given = node.args
        plain = list(getattr(given, "posonlyargs", [])) + given.args
        if scope.kind == "class" and plain:
            inner.me = plain[0].arg
        defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
        pairs = list(zip(plain, defaults)) + list(zip(given.kwonlyargs, given.kw_defaults))
        pairs += [(arg, None) for arg in (given.vararg, given.kwarg) if arg]
        for arg, default in pairs:
            inner.bind(arg.arg, "value", default, scope)
        if name is None:
            inner.returns.append(node.body)
        return inner, ("def", node, scope, around)

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
                scope.stars.append(module)
                self.module.stars.append(module)
                continue
            path = module.rstrip(".") + "." + name if module.strip(".") else name
            known = name in KNOWN and name != "slim" and module.split(".")[0] != "gin"
            if known:
                path = KNOWN[name]
            elif name == "backend" and (alias.asname or "").lower() in ("k", "ktf"):
                path = "K"
            scope.bind(alias.asname or name, "path", path)

    def _assign(self, target, value, scope):
        kind = type(target).__name__
        if kind == "Name":
            scope.bind(target.id, "value", value, scope)
        elif kind in ("Tuple", "List"):
            values = getattr(value, "elts", None)
            if values is None or len(values) != len(target.elts):
                values = [None] * len(target.elts)
            for part, one in zip(target.elts, values):
                self._assign(part, one, scope)
        elif kind == "Attribute" and isinstance(target.value, ast.Name):
            owner = scope.owner()
            if owner and target.value.id in (scope.me, "self"):
                owner.attributes.setdefault(target.attr, []).append((value, scope))
        elif kind == "Subscript" and isinstance(target.value, ast.Name):
            key = text_of(index_of(target))
            if key:
                scope.items.setdefault(target.value.id, []).append(key)
        elif kind == "Starred":
            self._assign(target.value, None, scope)

    def _record(self, node, scope, around, parent, kind):
        if kind == "Call":
            self.sites.append(Site(node, scope, around, parent))
        elif kind in ("Attribute", "Name"):
            word = node.attr if kind == "Attribute" else node.id
            called = isinstance(parent, ast.Call) and parent.func is node
            if not called and word in WORDS:
                self.sites.append(Site(node, scope, around, parent))
        elif kind == "Subscript" and isinstance(node.ctx, ast.Store):
            self.sites.append(Site(node, scope, around, parent))
        elif kind in ("With", "AsyncWith"):
            self.blocks.append(Site(node, scope, around, parent))

    # What an expression may be: dotted paths; `x()` is what calling x gives.

    def paths(self, node, scope, depth=0):
        """Return the paths that an expression may stand for."""
        if node is None or depth > 12:
            return frozenset()
        # By depth: an answer that the limit has cut is none for who asks from nearer.
        key = (node, scope, depth)
        if key not in self._memo:
            found = getattr(self, "_of_" + type(node).__name__.lower(), None)
            result = frozenset(found(node, scope, depth + 1)) if found else frozenset()
            self._memo[key] = frozenset(sorted(result)[:12])
        return self._memo[key]

    def _of_name(self, node, scope, depth):
        return self.named(node.id, scope, depth)

    def named(self, name, scope, depth=0):
        """Return the paths that a name may stand for."""
        bound, where = scope.find(name)
        found = set()
        for what in bound:
            found |= self._of_binding(name, what, where, depth)
        if bound:
            return found
        for star in self.module.stars:
            path = canonical(star + "." + name)
            if ruled(path) or name in KNOWN:
                found.add(KNOWN.get(name, path))
        if not found and name in KNOWN:
            found.add(KNOWN[name])
        elif not found:
            found.add("builtin " + name)
        return found

    def _of_binding(self, name, what, where, depth):
        kind = what[0]
        if kind == "path":
            return {canonical(what[1])}
        if kind == "def":
            return {f"local def {id(what[1])}"} if self._keep(what[1]) else set()
        if kind == "class":
            return {f"local class {what[1]}"}
        found = set(self.paths(what[1], what[2], depth))
        if name in ("tf", "tf1", "tfv1") and not any(
            path.startswith("tf") or head(path) in FOREIGN for path in found
        ):
            return {"tf"}  # what some function imported
        return found

    def _keep(self, scope):
        self._defs = getattr(self, "_defs", {})
        self._defs[id(scope)] = scope
        return True

    def _of_attribute(self, node, scope, depth):
        found = set()
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            found = self._member(scope.owner(), node.attr, depth)
        else:
            for path in self.paths(node.value, scope, depth):
                if path.startswith("local class ") and path.count("(") < 2:
                    owner = self.classes[int(path[12:].rstrip("()"))]
                    found |= self._member(owner, node.attr, depth)
                elif not path.startswith(("local ", "super ")):
                    found.add(canonical(path + "." + node.attr))
        if not found and node.attr in ("tf", "_tf"):
            found.add("tf")
        return found

    def _member(self, owner, name, depth):
        """Return the paths of an attribute of a class of this file."""
        found = set()
        for at in self._family(owner):
            for value, where in at.attributes.get(name, []):
                found |= self.paths(value, where, depth)
            for what in at.names.get(name, []):
                found |= self._of_binding(name, what, at, depth)
        return found

    def _family(self, owner, depth=0):
        """Return a class and its bases in this file."""
        if owner is None or depth > 8:
            return []
        found = [owner]
        for base in owner.node.bases:
            for path in self.paths(base, owner.parent, depth):
                if path.startswith("local class "):
                    found += self._family(self.classes[int(path[12:])], depth + 1)
        return found

    def _of_call(self, node, scope, depth):
        found = set()
        for path in self.paths(node.func, scope, depth):
            first = node.args[0] if node.args else None
            if path == "builtin getattr" and len(node.args) > 1:
                name = text_of(node.args[1])
                for one in self.paths(first, scope, depth) if name else ():
                    found.add(canonical(one + "." + name))
            elif path == "builtin super":
                owner = scope.owner()
                if owner:
                    found.add(f"super {self.classes.index(owner)}")
            elif path in ("functools.partial", "builtin partial"):
                found |= self.paths(first, scope, depth)
            elif path in ("importlib.import_module", "builtin __import__"):
                found.add(canonical(text_of(first) or "unknown"))
            elif path.startswith("local def "):
                for value in self._defs[int(path[10:])].returns[:8]:
                    found |= self.paths(value, self._defs[int(path[10:])], depth)
            elif "(" not in path or path.count("(") < 4:
                found.add(path + "()")
        return found

    def _of_subscript(self, node, scope, depth):
        found = self.paths(node.value, scope, depth)
        return {path[5:] for path in found if path.startswith("item ")}

    def _of_dict(self, node, scope, depth):
        found = set()
        for value in node.values[:20]:
            found |= {"item " + path for path in self.paths(value, scope, depth)}
        return found

    def _of_ifexp(self, node, scope, depth):
        return self.paths(node.body, scope, depth) | self.paths(node.orelse, scope, depth)

    def _of_boolop(self, node, scope, depth):
        return frozenset().union(*(self.paths(one, scope, depth) for one in node.values))

    def _of_namedexpr(self, node, scope, depth):
        return self.paths(node.value, scope, depth)

    def constant(self, node, scope, depth=0):
        """Return the string that an expression is, through names, or None."""
        if isinstance(node, ast.Name) and depth < 6:
            bound, _ = scope.find(node.id)
            texts = {self.constant(b[1], b[2], depth + 1) for b in bound if b[0] == "value"}
            return texts.pop() if len(texts) == 1 else None
        return text_of(node)

    def optimizer(self, paths, depth=0):
        """Return what the paths of an object or class say: v1, keras, scipy, foreign, local."""
        found = set()
        for path in paths:
            bare = path.rstrip("()")
            if path.endswith(("ScipyOptimizerInterface()", "ExternalOptimizerInterface()")):
                found.add("scipy")
            elif bare.startswith(("local class ", "super ")):
                owner = self.classes[int(bare.split()[-1])]
                found.add(self._class_kind(owner, depth))
            elif path.startswith("local def "):
                continue
            elif KERAS_OPTIMIZER.match(bare):
                found.add("keras")
            elif OPTIMIZER.match(bare):
                found.add("v1")
            elif head(bare) in FOREIGN:
                found.add("foreign")
            elif path.endswith("enable_mixed_precision_graph_rewrite()"):
                found.add("v1")
        for kind in ("scipy", "v1", "keras", "likely", "local", "foreign"):
            if kind in found:
                return kind
        return ""

    def _class_kind(self, owner, depth):
        if depth > 8:
            return "local"
        kinds = set()
        for base in owner.node.bases:
            paths = self.paths(base, owner.parent)
            kinds.add(self.optimizer(paths, depth + 1))
            last = getattr(base, "attr", getattr(base, "id", ""))
            if "ptimizer" in last and not kinds & {"v1", "keras", "local", "foreign"}:
                kinds.add("likely")
        for kind in ("v1", "keras", "likely", "foreign"):
            if kind in kinds:
                return kind
        return "local"


def text_of(node):
    """Return the string that a node is, or None."""
    if node is not None and type(node).__name__ in ("Str", "Constant"):
        found = getattr(node, "value", getattr(node, "s", None))
        return found if isinstance(found, str) else None
    return None


def index_of(node):
    """Return what stands in the square brackets; before Python 3.9 it is wrapped."""
    inner = node.slice
    return inner.value if type(inner).__name__ == "Index" else inner


def is_zero(node):
    """Tell whether a node is the number 0."""
    return getattr(node, "value", getattr(node, "n", None)) == 0


def is_none(node):
    """Tell whether a node is None, of which a list is no argument for a tape."""
    return type(node).__name__ in ("Constant", "NameConstant") and node.value is None


# Looking: each site against the rules.


class Look:
    """All findings in one text."""

    def __init__(self, text, path=""):
        """Read `text` and collect what is found in `findings`."""
        self.path, self.findings, self.source = path, [], Text(text)
        self.names = Names(self.source.tree)
        self.whole, self.consumed, self.done = text, set(), set()
        self.overrides = "gradient_override_map" in text
        known = ("tensorflow", "keras", "horovod", "tf_slim", "tf.", "K.")
        self.tensorflow = any(word in text for word in known)
        self.off = any(f"disable_{word}()" in text for word in ("eager_execution", "v2_behavior"))
        self.methods = {  # names that classes here give to methods of their own
            name
            for owner in self.names.classes
            if self.names._class_kind(owner, 0) in ("local", "foreign")
            for name in owner.names
        }
        self.functions = self._functions()
        # Whether this file does what a tape may not follow, in a graph of TensorFlow 1 at least.
        self.shut = self.overrides or (any(word in text for word in LOOPS) and LOOP.search(text))
        self.asking = None
        for site in self.names.sites:
            getattr(self, "_" + type(site.node).__name__.lower())(site)
        for site in self.names.blocks:
            self._block(site)
        if self.source.left:
            self._words()
        self.findings.sort(key=lambda found: (found["line"], found["column"]))

    def _functions(self):
        """Return the functions that are passed to tf.function, as nodes."""
        found = set()
        for site in self.names.sites:
            if isinstance(site.node, ast.Call) and site.node.args:
                if "tf.function" in self.names.paths(site.node.func, site.scope):
                    for path in self.names.paths(site.node.args[0], site.scope):
                        if path.startswith("local def "):
                            found.add(id(self.names._defs[int(path[10:])].node))
        return found

    def works(self, site):
        """Return why an old call still works where it stands, or an empty text."""
        around = site.around
        while around:
            kind, node, scope, around = around
            if kind == "def":
                marks = self._marks(node)
                paths = frozenset().union(*(self.names.paths(one, scope) for one in marks))
                paths = {path.replace("()", "") for path in paths}
                if id(node) in self.functions or paths & {"tf.function", "tf.contrib.eager.defun"}:
                    return "it still works here, inside a tf.function"
                continue
            for item in node.items:
                for path in self.names.paths(item.context_expr, scope):
                    if re.match(r"tf\.Graph\(\)\.as_default\b", path):
                        return "it still works here, inside a tf.Graph"
                func = getattr(item.context_expr, "func", None)
                if getattr(func, "attr", "") == "as_default" and "graph" in last_name(func.value):
                    return "it still works here, inside a tf.Graph"
        return "it still works while eager execution is off" if self.off else ""

    # Calls.

    def _call(self, site):
        node = site.node
        paths = self.names.paths(node.func, site.scope)
        given = node.args
        if paths & {"functools.partial", "builtin partial"} and given:
            self.consumed.add(id(given[0]))
            paths, skip = self.names.paths(given[0], site.scope), 1
        else:
            skip = 0
        if "builtin setattr" in paths and len(given) > 1:
            for path in self.names.paths(given[0], site.scope):
                if ruled(canonical(path + "." + str(text_of(given[1])))):
                    return self._add(site, RULE["replaced tf.gradients"], {})
        for path in sorted(paths):
            rule = ruled(path)
            if rule:
                given = self._given(site, rule, skip)
                return self._add(site, self._register(rule, site), given, self._bound(site))
        attribute = getattr(node.func, "attr", "")
        if attribute == "RegisterGradient":
            rule = self._register(RULE["RegisterGradient for a map"], site)
            return self._add(site, rule, self._given(site, rule))
        if attribute in METHODS:
            return self._method(site, attribute, node.func.value)
        for path in sorted(paths):  # a method under another name
            base, _, last = path.rpartition(".")
            kind = last in METHODS and base.endswith(")") and self.names.optimizer({base})
            rule = kind in ("v1", "keras") and self._rule(last, kind)
            if rule:
                return self._add(site, rule, self._given(site, rule))
        return None

    @staticmethod
    def _bound(site):
        """Tell whether the first name of a call is bound; in a fragment, tf is a good guess."""
        node = site.node.func
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        return not isinstance(node, ast.Name) or bool(site.scope.find(node.id)[0])

    def _register(self, rule, site):
        """Return the rule for RegisterGradient, by the use of the name in this file."""
        if not rule["id"].startswith("RegisterGradient"):
            return rule
        name = site.node.args and self.names.constant(site.node.args[0], site.scope)
        if self.overrides or not name or not re.match(r"[A-Z]\w*$", name):
            return RULE["RegisterGradient for a map"]
        return RULE["RegisterGradient"]

    @staticmethod
    def _rule(method, kind):
        """Return the rule for a method of a kind of object, or None."""
        rules = METHODS[method]
        keras = "keras optimizer" if kind == "keras" else "optimizer"
        for of in ("anything", "scipy" if kind == "scipy" else keras, "any optimizer"):
            if of in rules:
                return rules[of]
        return None

    def _method(self, site, method, receiver):
        """Look at a call of a method that optimizers, tapes or graphs have."""
        if "anything" in METHODS[method]:
            rule = METHODS[method]["anything"]
            self._add(site, rule, self._given(site, rule))
        elif "tape" in METHODS[method]:
            self._tape(site, receiver)
        else:
            self._optimizer(site, method, receiver)

    def _optimizer(self, site, method, receiver):
        """Look at a call of an optimizer's method, on whatever object."""
        objects = self.names.paths(receiver, site.scope)
        own, certain = self._mine(site, receiver, objects)
        kind = own or self.names.optimizer(objects)
        words = self._words_of(site)
        if kind in ("skip", "foreign", "local"):
            return
        if not kind or kind == "likely":
            if not self._likely(site, method, receiver, words, kind):
                return
            certain, kind = False, self._guess(site)
        rule = self._rule(method, kind)
        if method == "apply_gradients" and self._as_ever(site, kind, words):
            return
        skip = 0
        if site.node.args and any(not p.endswith(")") and OPTIMIZER.match(p) for p in objects):
            skip = 1  # the class's own function, whose first argument is the optimizer
        if rule:
            given = self._given(site, rule, skip)
            given.update({"self": ("", None, None)} if skip else {})
            self._add(site, rule, given, certain)

    def _as_ever(self, site, kind, words):
        """Tell whether a call of apply_gradients is as one writes it with a tape."""
        if kind == "keras":
            return not words & {"name", "global_step"}
        given = site.node.args
        pairs = len(given) == 1 and not words and not isinstance(given[0], ast.Starred)
        old = ".compute_gradients(" in self.whole or ".gradients(" in self.whole
        return pairs and "GradientTape" in self.whole and not old

    def _mine(self, site, receiver, objects):
        """Return what a call on `self` or `super()` is: a kind, "skip" or nothing."""
        me = isinstance(receiver, ast.Name) and receiver.id in ("self", "cls")
        above = any(path.startswith("super ") for path in objects)
        if not (me or above):
            return "", True
        owner = site.scope.owner()
        if owner is None:
            return "skip", True
        kind = self.names._class_kind(owner, 0)
        if kind in ("v1", "keras", "likely"):
            return ("v1" if kind == "likely" else kind), kind != "likely"
        if above and self._words_of(site) & (OLD_WORDS | {"loss"}):
            return "v1", False
        return "skip", True

    def _words_of(self, site):
        """Return the names of the keywords of a call, those in a dict too."""
        words = {word.arg for word in site.node.keywords if word.arg}
        for word in site.node.keywords:
            if word.arg is None:
                words |= set(self._spread(word.value, site.scope))
        return words

    def _spread(self, node, scope, depth=0):
        """Return the keys of a dict behind two stars, as far as the text shows them."""
        keys = []
        if isinstance(node, ast.Dict):
            keys = [text_of(key) for key in node.keys if key is not None]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
            keys = [word.arg for word in node.keywords]
        elif isinstance(node, ast.Name) and depth < 4:
            bound, where = scope.find(node.id)
            for what in bound:
                if what[0] == "value" and what[1] is not None:
                    keys += self._spread(what[1], what[2], depth + 1)
            keys += where.items.get(node.id, []) if where else []
        return [key for key in dict.fromkeys(keys) if key]

    @staticmethod
    def _open(node, scope):
        """Tell whether a dict may hold more than the text shows: a function was given it."""
        bound = scope.find(node.id)[0] if isinstance(node, ast.Name) else []
        return any(what[0] == "value" and what[1] is None for what in bound)

    def _likely(self, site, method, receiver, words, kind):
        """Tell whether an unknown object is an optimizer, by its name and arguments."""
        if not self.tensorflow or (method in self.methods and not words & OLD_WORDS):
            return False
        count = len(site.node.args) + len(site.node.keywords)
        hint = kind == "likely" or HINT.search(last_name(receiver))
        if words & OLD_WORDS:
            return method != "apply_gradients" or bool(hint or "global_step" in words)
        if self.names.roots & OTHERS:
            return False
        if method in ("get_gradients", "get_updates"):
            return bool(hint) and count >= 2
        if method == "apply_gradients":
            old = self._of_graphs() and "GradientTape" not in self.whole
            owner = site.scope.owner()  # an optimizer that passes the call on to another
            old = old or (owner and self.names._class_kind(owner, 0) == "v1")
            return bool(hint and count and old)
        return bool(hint) and count >= 1

    def _of_graphs(self):
        """Tell whether this file builds graphs."""
        words = any(word in self.whole for word in GRAPH_WORDS)
        return words or re.search(r"train\.\w*Optimizer\b", self.whole) is not None

    @staticmethod
    def _guess(site):
        first = site.node.args[0] if site.node.args else None
        if any(word.arg == "session" for word in site.node.keywords):
            return "scipy"
        if re.match(r"sess(ion)?$", last_name(first)):
            return "scipy"
        return "v1"

    # What stands in the brackets.

    def _given(self, site, rule, skip=0):
        """Return what is passed, by the names of the parameters: (text, node, span)."""
        node = site.node
        before, inner = 0, node.func
        while isinstance(inner, (ast.Attribute, ast.Call, ast.Subscript)):
            before += isinstance(inner, ast.Call)
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
        names = rule["parameters"]
        if rule["id"] == "get_updates" and len(node.args) == 3:  # Keras 1
            names = ["params", "constraints", "loss"]
        start = self.source.offset(node)
        site.name, spans = call_at(self.source.text, start, before, self.source.end(node))
        site.name = start if site.name is None else site.name
        site.start, result, position = start, {}, -skip
        site.end = self._end(start, spans)
        nodes = list(node.args)
        words = {word.arg: word.value for word in node.keywords if word.arg}
        for span in spans or self._bare(node):
            text = value(self.source.text, span) if span[1] is not None else "…"
            if span[0] == "**":
                spread = [word.value for word in node.keywords if word.arg is None]
                keys = [key for one in spread for key in self._spread(one, site.scope)]
                for key in keys:
                    result.setdefault(key, (f"{text}[{key!r}]", None, None))
                if not keys or any(self._open(one, site.scope) for one in spread):
                    result["**" + text] = (text, None, None)
            elif span[0] == "*":
                result["*" + text] = (text, None, None)
                position += 100
            elif span[0]:
                result[span[0]] = (text, words.get(span[0]), span)
            else:
                if 0 <= position < len(names):
                    at = position + skip
                    one = nodes[at] if at < len(nodes) else None
                    result[names[position]] = (text, one, span)
                position += 1
        return result

    @staticmethod
    def _bare(node):
        """Return arguments without their text, where the text was not understood."""
        names = ["*" if isinstance(one, ast.Starred) else "" for one in node.args]
        names += [word.arg or "**" for word in node.keywords]
        return [[name, None, 0, 0, None] for name in names]

    def _end(self, start, spans):
        text, last = self.source.text, start
        if spans:
            last = max(span[3] for span in spans)
        close = text.find(")", last)
        return close + 1 if close >= 0 else len(text)

    def _fill(self, site, rule, given):
        """Return the replacement with the reader's own expressions, or an empty text.

        None is better than one that leaves out what changes the result.
        """
        code, known = rule.get("code", ""), rule["arguments"]
        left = [name for name in given if "{" + name not in code]
        if any(name not in known or known[name].get("silent") for name in left if name != "tape"):
            return ""
        texts = {name: self._expression(rule, name, given, site) for name in given}
        texts["receiver"] = self._receiver(site)
        if "tape" in given:
            code = code.replace("tape.", "{tape}.")
        elif texts["receiver"].startswith("super(") and "tape." in code:
            return ""  # what calls this has the tape, or nobody has

        def optional(found):
            names = re.findall(r"\{(\w+)\}", found[1])
            return found[1] if all(name in texts for name in names) else ""

        code = re.sub(r"\[\[(.*?)\]\]", optional, code)
        wanted = re.findall(r"\{(\w+)(\|[^}]*)?\}", code)
        if any(not texts.get(name, default) for name, default in wanted):
            return ""
        return re.sub(r"\{(\w+)(?:\|([^}]*))?\}", lambda m: texts.get(m[1], m[2]), code)

    def _receiver(self, site):
        """Return the object of a method, or a name for one that is made on the spot."""
        text = self.source.text[site.start : site.name]
        text = re.sub(r"\s*\\?\n\s*", "", text).strip().rstrip("\\. \t")
        return "optimizer" if "(" in text and not text.startswith("super(") else text

    def _expression(self, rule, name, given, site):
        """Return an argument's text; what is a function there is called, as a tape needs."""
        text, node, _ = given[name]
        refused = any(is_none(one) for one in getattr(node, "elts", ()))
        if text == "…" or self._asks(node, site.scope) or refused:
            return ""
        if name not in ("loss", "var_list"):
            return text
        if isinstance(node, ast.Lambda):
            return re.sub(r"^lambda *: *", "", text) if text[6:].lstrip()[:1] == ":" else ""
        keras = rule.get("of") == "keras optimizer" and name == "loss" and "tape" not in given
        plain = isinstance(node, (ast.Name, ast.Attribute))
        return text + "()" if (keras and plain) or self._is_function(node, site.scope) else text

    def _asks(self, node, scope):
        """Tell whether an old call stands inside an argument: it needs a tape of its own."""
        for one in ast.walk(node) if node is not None else ():
            if isinstance(one, ast.Call) and type(one.func) in (ast.Name, ast.Attribute):
                rules = map(ruled, self.names.paths(one.func, scope))
                if any(rule and "tape." in rule.get("code", "") for rule in rules):
                    return True
        return False

    def _verdicts(self, rule, given, site):
        """Return the verdict of each argument that is passed."""
        found = []
        for name, (text, node, _) in given.items():
            key = name
            if name == "loss" and self._is_function(node, site.scope):
                key = "loss function" if "loss function" in rule["arguments"] else name
            known = rule["arguments"].get(key)
            if known:
                one = {"name": name, "value": text}
                for field in ("verdict", "write", "page", "says", "silent"):
                    if field in known:
                        one[field] = known[field]
                one["page"] = BASE + one["page"]
                found.append(one)
        return found

    def _is_function(self, node, scope):
        if isinstance(node, ast.Lambda):
            return True
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return False
        paths = self.names.paths(node, scope)
        return bool(paths) and all(
            path.startswith("local def ")
            and "property" not in map(last_name, self._marks(self.names._defs[int(path[10:])].node))
            for path in paths
        )

    @staticmethod
    def _marks(node):
        """Return the decorators of a function."""
        return getattr(node, "decorator_list", [])

    def _notes(self, rule, given, site, listed):
        """Return what else a reader of this call must know, and whether it is silent.

        `listed` tells whether what to write asks for a list of one gradient.
        """
        notes, silent = [], False
        notes += [f"what {name} holds is not visible" for name in given if name[0] == "*"]
        sources = given.get("xs") or given.get("variables") or given.get("params")
        bare = sources and not isinstance(sources[1], (ast.List, ast.Tuple, ast.ListComp, ast.Dict))
        if listed:
            notes.append("the list of one source gives a list of one gradient, as before")
        elif bare and rule.get("code", "").startswith("tape.gradient"):
            up = site.parent
            if isinstance(up, ast.Subscript) and up.value is site.node:
                sure = self._single(sources[1], site.scope)
                why = (
                    f": {sources[0]} is one tensor"
                    if sure
                    else (f" if {sources[0]} is one tensor, not a list")
                )
                notes.append("drop the [0]" + why)
                silent = True
            elif sources[1] is not None:
                notes.append("one tensor as source gives one gradient, not a list")
        if rule["id"] == "tf.gradients" and len(getattr(site.node, "args", ())) > 4:
            notes.append("the fifth argument by position is another one in TF 2's tf.gradients")
            silent = True
        if any(self._asks(one[1], site.scope) for one in given.values()):
            notes.append("a gradient of a gradient needs two tapes, one inside the other")
        return notes, silent

    def _of_replacement(self, site, rule, given, hunk):
        """Return what the replacement leaves to the reader."""
        notes = []
        made = "(" in self.source.text[site.start : site.name]
        if made and "{receiver}" in rule["code"] and self._receiver(site) == "optimizer":
            notes.append("make the optimizer once, before the first step")
        target = (given.get("ys") or given.get("loss") or given.get("output") or (0, None))[1]
        if "tape." in rule["code"] and target is not None and not hunk:
            if any(isinstance(one, ast.Call) for one in ast.walk(target)):
                notes.append(
                    "compute the target inside the tape's block; outside, nothing records it"
                )
        if "|model." in rule["code"] and "var_list" not in given:
            notes.append("model.trainable_variables stands for the variables that you train")
        return notes

    def _single(self, node, scope):
        """Tell whether an expression is one tensor or variable for certain."""
        paths = self.names.paths(node, scope)
        return bool(paths) and all(map(SINGLE.match, paths))

    def _place(self, site, rule):
        """Return where a call or name starts, its line and its column."""
        if isinstance(site.node, ast.Call) and not hasattr(site, "start"):
            self._given(site, rule)
        elif not hasattr(site, "start"):
            site.start = site.name = self.source.offset(site.node)
            words = re.compile(r"\w+(?:\s*\.\s*\w+)*").match(self.source.text, site.start)
            site.end = words.end() if words else site.start
        line, column = self.source.place(site.start)
        if line != self.source.place(site.name)[0]:  # a method on a line of its own
            line, column = self.source.place(site.name)
        return site.start, line, column

    def _add(self, site, rule, given, certain=True):
        """Add a finding."""
        start, line, column = self._place(site, rule)
        if (line, column, rule["id"]) in self.done:
            return
        self.done.add((line, column, rule["id"]))
        text = self.source.text
        arguments = self._verdicts(rule, given, site)
        replacement = self._fill(site, rule, given) if "code" in rule else ""
        code, hunk = self._hunk(site, rule, given) if replacement else ("", "")
        listed = hunk and code != replacement
        replacement = code if hunk else replacement
        notes, silent = self._notes(rule, given, site, listed)
        notes += self._of_replacement(site, rule, given, hunk) if replacement else []
        call = " ".join(text[start : min(site.end, start + 2000)].split())
        found = {
            "path": self.path,
            "line": line,
            "column": column,
            "rule": rule["id"],
            "call": call if len(call) < 200 else call[:199] + "…",
            "verdict": rule["verdict"],
            "arguments": arguments,
            "write": rule["write"],
            "replacement": replacement,
            "hunk": hunk,
            "notes": ([rule["says"]] if "says" in rule else []) + notes,
            "page": BASE + rule["page"],
            "certainty": "certain" if certain and not self.source.how == "words" else "likely",
            "silent": bool(rule.get("silent") or silent or any(a.get("silent") for a in arguments)),
            "trap": bool(rule.get("trap")),
            "works": "" if rule.get("trap") else self.works(site),
            "how": self.source.how or "parsed",
        }
        if not self.source.how and certain:
            found["edits"] = list(self._edits(rule, given))
        self.findings.append(found)

    def _edits(self, rule, given):
        """Yield start, end and text of what `--fix` changes."""
        renamed, dropped, text = rule.get("rename", {}), rule.get("drop", []), self.source.text
        eaten = -1  # where a drop ended that took the comma behind it
        for name, (_, _, span) in given.items():
            if not span or span[1] is None or span[0] != name:
                continue
            _, start, _, end, comma = span
            if name in renamed and renamed[name] not in given:
                yield start, start + len(name), renamed[name]
            elif name in dropped and comma is not None:
                if comma < eaten or text[comma + 1 : start].strip():  # a comment stays
                    eaten = re.compile(r"(?:[ \t]*,[ \t]*)?").match(text, end).end()
                    yield start, eaten, ""
                else:
                    yield comma, end, ""

    # A tape around the forward pass, where all of it stands in the block of the call.

    def _hunk(self, site, rule, given):
        """Return the call and a hunk of a patch that puts the forward pass under a tape.

        Nothing is better than a hunk that leaves a part of the forward pass outside.
        """
        if self.shut or rule["id"] not in ("tf.gradients", "K.gradients", "parallel_for jacobian"):
            return "", ""
        names = re.search(r"\(\{(\w+)\}, \{(\w+)", rule["code"])
        target, sources = (given.get(names[place], ("", None, None)) for place in (1, 2))
        node, scope = sources[1], site.scope
        parts = node.elts if isinstance(node, ast.List) else [node]
        if (
            self.source.how == "words"
            or not (parts and all(isinstance(one, ast.Name) for one in [target[1], *parts]))
            # What is left out of the call changes the nodes of a graph, at least.
            or any("{" + name not in rule["code"] for name in given)
            or not scope.find("tf")[0]
            or not all(self._is_new(one, scope) for one in parts)
        ):
            return "", ""
        block, place, around, outermost = block_at(self.source.tree, site.node)
        first = forward(block, place, around, target[0], [one.id for one in parts])
        kinds = ("id", "attr", "arg", "name", "asname")
        words = set()
        for one in outermost:
            words |= {getattr(one, kind, "") for kind in kinds}
            words |= set(one.names) if isinstance(one, (ast.Global, ast.Nonlocal)) else set()
        if first is None or NAMES_ALL & words or self._helps(around):
            return "", ""
        if any(self._asks(one, scope) for one in block[first:place]):
            return "", ""
        if node is parts[0] and rule["id"] != "parallel_for jacobian":
            # It gave a list for one source, too.
            given = dict(given, **{names[2]: ("[" + sources[0] + "]", node, None)})
        code = self._fill(site, rule, given)
        new = (site.start, site.end, code)
        watch = f"tape.watch({sources[0]})"  # a variable may be one that is not trainable
        return code, code and self.source.under_tape(block, first, place, watch, new)

    def _is_new(self, node, scope):
        """Tell whether a name is a tensor on which nothing depends when it is made."""
        bound = scope.find(node.id)[0]
        value = bound[0][1] if len(bound) == 1 and bound[0][0] == "value" else None
        if isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
            paths = self.names.paths(value.func, scope)
            return bool(paths) and all(NEW(path) for path in paths)
        return is_number(value)

    def _helps(self, around):
        """Tell whether another function here asks for gradients: perhaps under this tape."""
        tree = self.source.tree
        if self.asking is None:
            inside = sum(map(asks_by_name, ast.walk(tree)))
            self.asking = inside - sum(map(asks_by_name, here(tree.body)))
        mine = 0 if around is tree else sum(map(asks_by_name, here(around.body)))
        return self.asking > mine

    # Names that are not called.

    def _attribute(self, site):
        node = site.node
        if id(node) in self.consumed:
            return
        if node.attr == "total_loss":
            if isinstance(node.ctx, ast.Load) and re.search(r"model$", last_name(node.value)):
                if "keras" in self.whole and ".total_loss =" not in self.whole:
                    self._add(site, RULE["model.total_loss"], {}, False)
            return
        for path in sorted(self.names.paths(node, site.scope)):
            rule = ruled(path)
            if rule and not isinstance(site.parent, ast.Attribute):
                stored = isinstance(node.ctx, ast.Store) and rule["id"] == "tf.gradients"
                return self._add(site, RULE["replaced tf.gradients"] if stored else rule, {})

    def _name(self, site):
        if isinstance(site.node.ctx, ast.Load) and not isinstance(site.parent, ast.Attribute):
            if id(site.node) not in self.consumed and site.scope.find(site.node.id)[0]:
                for path in sorted(self.names.paths(site.node, site.scope)):
                    if ruled(path):
                        return self._add(site, ruled(path), {})

    def _subscript(self, site):
        """Look at `tf.__dict__["gradients"] = f`."""
        held = site.node.value
        if getattr(held, "attr", "") == "__dict__":
            for path in self.names.paths(held.value, site.scope):
                if ruled(canonical(f"{path}.{text_of(index_of(site.node))}")):
                    self._add(site, RULE["replaced tf.gradients"], {})

    # Tapes.

    def _is_tape(self, node, scope):
        paths = self.names.paths(node, scope)
        return bool(paths) and all(re.search(r"\b\w*GradientTape\(\)$", p) for p in paths)

    def _tape(self, site, receiver):
        """Look at a call on a tape: old keywords, a leftover index, its own block."""
        node, rule = site.node, RULE["old keyword on a tape"]
        sure = self._is_tape(receiver, site.scope)
        words = {word.arg for word in node.keywords}
        if (sure or "tape" in last_name(receiver).lower()) and words & set(rule["arguments"]):
            return self._add(site, rule, self._given(site, rule), sure)
        if not sure:
            return None
        if self._inside(site, receiver):
            return self._add(site, RULE["persistent tape asked inside its block"], {})
        up = site.parent
        if isinstance(up, ast.Subscript) and up.value is node and len(node.args) > 1:
            if is_zero(index_of(up)) and self._single(node.args[1], site.scope):
                self._add(site, RULE["leftover [0]"], {}, False)
        return None

    def _inside(self, site, receiver):
        """Tell whether a persistent tape is asked in the text of its own block."""
        around = site.around
        while around and isinstance(receiver, ast.Name):
            kind, node, _, around = around
            if kind == "def":
                return False
            for item in node.items:
                if getattr(item.optional_vars, "id", None) == receiver.id:
                    words = getattr(item.context_expr, "keywords", [])
                    return any(
                        word.arg == "persistent" and getattr(word.value, "value", False) is True
                        for word in words
                    )
        return False

    def _block(self, site):
        """Look into the block of a tape."""
        for item in site.node.items:
            tape = getattr(item.optional_vars, "id", None)
            if tape and self._is_tape(item.optional_vars, site.scope):
                used = set()
                for statement in site.node.body:
                    self._statement(statement, tape, used, site)

    def _statement(self, statement, tape, used, site):
        call = getattr(statement, "value", None)
        if isinstance(statement, ast.Expr) and isinstance(call, ast.Call):
            func = call.func
            if getattr(func, "attr", "") == "watch" and last_name(func) != tape:
                if getattr(func.value, "id", "") == tape and call.args:
                    if getattr(call.args[0], "id", None) in used:
                        here = Site(call, site.scope, site.around, statement)
                        self._add(here, RULE["watch after use"], {})
                    return
        nodes = list(ast.walk(statement))
        used |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)):
            for one in nodes:
                func = getattr(one, "func", None)
                if getattr(func, "attr", "") == "numpy" and not one.args:
                    asked = getattr(getattr(func.value, "func", None), "attr", "")
                    if asked not in ("gradient", "jacobian", "batch_jacobian"):
                        here = Site(one, site.scope, site.around, statement)
                        self._add(here, RULE["numpy under the tape"], {}, False)

    # What is not Python at all: names before brackets.

    def _words(self):
        text = self.source.original
        starts = line_starts(text)
        chain = re.compile(r"((?:\)\s*\.\s*)?[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)\s*(\(?)")
        for a, b in self.source.left:
            code = list(text[a:b])
            for kind, word, at, end in scan(text[a:b]):
                if kind in ("string", "comment"):
                    code[at:end] = re.sub(r"[^\n]", " ", word)
            for found in chain.finditer("".join(code)):
                path = re.sub(r"\s", "", found[1])
                if path[0] == ")":  # a method of what a call gave
                    path = ("optimizer" if "Optimizer(" in text[a:b] else "it") + path[1:]
                rule = found[2] and self._word(path, text[a + found.end() : b][:2000])
                if rule:
                    at = a + found.start() + found[1].rfind(path.rsplit(".", 1)[-1])
                    line = bisect.bisect_right(starts, at)
                    self._add_words(rule, line, at - starts[line - 1] + 1, text[at:b])

    def _word(self, path, rest):
        head, _, tail = path.partition(".")
        for one in self.names.named(head, self.names.module):
            rule = ruled(canonical(one + ("." + tail if tail else "")))
            if rule:
                return rule
        receiver, _, method = path.rpartition(".")
        rules = METHODS.get(method, {}) if receiver else {}
        if "anything" in rules:
            return rules["anything"]
        old = any(re.search(rf"\b{word}\s*=", rest) for word in OLD_WORDS)
        hint = HINT.search(receiver.rsplit(".", 1)[-1]) and self._of_graphs()
        return rules.get("optimizer") if old or hint else None

    def _add_words(self, rule, line, column, rest):
        call = rest.split("\n")[0].strip()[:100]
        found = {"path": self.path, "line": line, "column": column, "rule": rule["id"]}
        found.update(call=call, verdict=rule["verdict"], arguments=[], write=rule["write"])
        found.update(replacement="", hunk="", notes=[rule["says"]] if "says" in rule else [])
        found.update(page=BASE + rule["page"], certainty="likely", trap=bool(rule.get("trap")))
        found.update(silent=bool(rule.get("silent")), works="", how="words")
        self.findings.append(found)


def block_at(tree, node):
    """Return the statements among which `node` stands, its place, and what is around them.

    That is the function, or the tree, or nothing sure; and the nodes of the outermost function.
    """
    around = outermost = tree
    block = tree.body
    while True:
        place, end = 0, len(block)
        while end - place > 1:  # bisect takes no key before Python 3.10
            middle = (place + end) // 2
            place, end = (middle, end) if block[middle].lineno <= node.lineno else (place, middle)
        statement = block[place]
        inner = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
        inner += [handler.body for handler in getattr(statement, "handlers", [])]
        inner = [one for one in inner if isinstance(one, list) and one[:1]]
        inner = [one for one in inner if one[0].lineno <= node.lineno]
        if not inner:
            return block, place, around, ast.walk(outermost)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            around = statement
            outermost = statement if outermost is tree else outermost
        if type(statement).__name__ in ("Try", "TryStar"):
            return block, place, None, []  # what fails may be expected to
        block = max(inner, key=lambda one: one[0].lineno)


def is_number(node):
    """Tell whether an expression is arithmetic: lists can only be added, or repeated."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        return is_number(node.left) or is_number(node.right)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Sub, ast.Div, ast.Pow, ast.MatMult))
    return isinstance(getattr(node, "value", getattr(node, "n", None)), float)


def asks_by_name(node):
    """Tell whether a node is the name of what asks for gradients."""
    name = getattr(node, "attr", getattr(node, "id", None))
    return name in ("gradients", "jacobian", "batch_jacobian", "hessians")


def here(statements):
    """Yield the nodes of statements, but not those of functions in them."""
    stack = list(statements)
    while stack:
        one = stack.pop()
        yield one
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            stack += ast.iter_child_nodes(one)


def reads(statement):
    """Return the names that a statement reads."""
    names = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Load)}


def binds(node):
    """Return each name that is bound anywhere in a node, as often as it is."""
    found = []
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.append(one.id)
        elif isinstance(one, ast.arg):
            found.append(one.arg)
        elif isinstance(one, ast.alias):
            found.append((one.asname or one.name).split(".")[0])
        elif isinstance(one, (ast.Global, ast.Nonlocal)):
            found += one.names * 2
        elif one is not node and isinstance(getattr(one, "name", None), str):
            found.append(one.name)  # functions, classes, exceptions, patterns
    return found


FAR = 300  # so many statements may stand in a block, or a long file takes too long
ENDS = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.ClassDef, ast.Delete)
ENDS += (ast.Global, ast.Nonlocal)
# A tape sees nothing of what is computed by the first, and not what variables held before the last.
AWAY = re.compile(r"(?:run|experimental_run_v2|eval|numpy|exec|assign\w*|scatter\w*)$")


def forward(block, place, around, target, sources):
    """Return the number of the first statement that can lead from sources to a target, or None.

    The sources are made in `block`, one behind the other, and nowhere else in the function
    `around`; so what depends on them comes after that, up to the call at `place`.
    """
    before, call = block[:place], block[place]
    if around is None or isinstance(around, ast.ClassDef) or not is_plain(call):
        return None
    if max(place, len(around.body)) > FAR:
        return None
    born = {}
    for number, one in enumerate(before):
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            born[getattr(one.targets[0], "id", "")] = number
    places = [born.get(name, -1) for name in sources]
    first, bound = max(places) + 1, binds(around)
    inside = before[first:]
    early = set().union(*map(reads, before[:first]), *map(nested, around.body))
    if (
        min(places) < 0
        or max(places) - min(places) + 1 != len(set(sources))
        or any(bound.count(name) != 1 for name in sources)
        or early & set(sources)
        or not set().union(*map(reads, inside)) & set(sources)
        or target not in set().union(*map(binds, inside))
        or leaves(inside)
    ):
        return None
    return first


def is_plain(call):
    """Tell whether the call in a statement is computed once, where it stands."""
    loops = "Lambda ListComp SetComp DictComp GeneratorExp IfExp NamedExpr".split()
    simple = isinstance(call, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return))
    return simple and not any(type(one).__name__ in loops for one in ast.walk(call))


def nested(statement):
    """Return the names that functions in a statement read."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found = (one for one in ast.walk(statement) if isinstance(one, functions))
    return set().union(*map(reads, found))


def leaves(inside):
    """Tell whether statements leave the block, or TensorFlow."""
    for one in inside:
        for part in ast.walk(one):
            called = last_name(part.func) if isinstance(part, ast.Call) else ""
            if AWAY.match(called) or getattr(part, "decorator_list", []):
                return True
    return any(isinstance(part, ENDS) for part in here(inside))


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


def notebook(text):
    """Return the code of a notebook, and where each of its lines stands: (line, cell, line)."""
    cells = json.loads(text)
    if "worksheets" in cells:  # the format before 4
        cells = {"cells": [cell for sheet in cells["worksheets"] for cell in sheet["cells"]]}
    lines, places, at = [], [], 0
    for number, cell in enumerate(cells["cells"], 1):
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        parts = [source] if isinstance(source, str) else source
        found = []
        for part in parts:
            for written in (json.dumps(part, ensure_ascii=False), json.dumps(part)):
                here = text.find(written, at)
                if here >= 0:
                    at = here + len(written)
                    break
            line = text.count("\n", 0, at) + 1
            found += [(one, line) for one in part.splitlines()]
        other = found and re.match(r"%%(?!time|capture|prun)", found[0][0])
        code = "\n".join(one for one, _ in found)
        starts = set(line_starts(code) if other else (start for start, _ in magics(code)))
        for inner, ((one, line), start) in enumerate(zip(found, line_starts(code)), 1):
            indent = re.match(r"\s*", one)[0]
            lines.append(indent + "pass" if start in starts else one)
            places.append((line, number, inner))
    return "\n".join(lines) + "\n", places


def in_cell(hunk, places):
    """Return a hunk with the numbers of its cell's lines; one over two cells is none."""
    sizes = re.match(r"@@ -(\d+),(\d+) \+\d+,(\d+) @@", hunk)
    if not sizes:
        return ""
    start, old, new = map(int, sizes.groups())
    (_, first, line), (_, last, _) = places[start - 1], places[start + old - 2]
    if first != last or re.search(r"\n[-+ ]\s*pass(?=\n)", hunk):  # perhaps a magic
        return ""
    return f"@@ -{line},{old} +{line},{new} @@{hunk[sizes.end() :]}"


def find(text, path=""):
    """Return the findings in the text of a file, in the order of their lines.

    Raises:
        ValueError: The text is that of a notebook that is none.
    """
    if not triggers(text):
        return []
    if not path.endswith(".ipynb"):
        return Look(text, path).findings
    try:
        code, places = notebook(text)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a notebook: {error!r}") from None
    findings = Look(code, path).findings
    for found in findings:
        line, cell, inner = places[min(found["line"], len(places)) - 1]
        found.update(line=line, cell=cell, cell_line=inner, hunk=in_cell(found["hunk"], places))
        found.pop("edits", None)
    return findings


# Files and output.

SKIPPED = {"__pycache__", "node_modules", "site-packages"}
LIMIT = 32 << 20


def decoded(data):
    """Return the text of a file's bytes, its encoding, and what is to be said about it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16"), "utf-16", ""
    if b"\0" in data[:8192]:
        raise ValueError("binary, skipped")
    cookie = re.match(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)", data)
    encoding = cookie[1].decode("ascii", "replace") if cookie else "utf-8"
    encoding = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else encoding
    try:
        return data.decode(encoding), encoding, ""
    except (UnicodeDecodeError, LookupError):
        return data.decode("latin-1"), "latin-1", f"not {encoding}, read as latin-1"


def looked(path):
    """Return the findings in a file, a message, and its text with line ends and encoding."""
    import os
    import warnings

    warnings.simplefilter("ignore")  # what the parser thinks of the reader's strings
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        elif os.path.getsize(path) > LIMIT:
            return [], f"larger than {LIMIT >> 20} MB, skipped", None
        elif not os.path.isfile(path):
            return [], "not a file, skipped", None
        else:
            with open(path, "rb") as file:
                data = file.read()
        text, encoding, message = decoded(data)
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        findings = find(plain, path)
    except (OSError, ValueError) as error:
        return [], getattr(error, "strerror", None) or str(error).split("\n")[0][:100], None
    except (RecursionError, MemoryError) as error:
        return [], f"too deep to read, skipped ({type(error).__name__})", None
    ways = {found["how"] for found in findings}
    if "words" in ways:
        message = message or "not Python 3; lines that are no Python were searched for names"
    elif "mended" in ways:
        message = message or "not Python 3 (Python 2?), mended to be read"
    return findings, message, (text, encoding)


def files(paths):
    """Yield the files at and below `paths`, each once, and what cannot be read."""
    import os

    def unread(error):
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)

    seen = set()
    for path in dict.fromkeys(paths):
        if not os.path.isdir(path):
            yield path
            continue
        for folder, inner, names in os.walk(path, onerror=unread, followlinks=True):
            real = os.path.realpath(folder)
            if real in seen:
                inner[:] = []
                continue
            seen.add(real)
            inner[:] = sorted(n for n in inner if n[0] != "." and n not in SKIPPED)
            for name in sorted(names):
                if name.endswith((".py", ".ipynb", ".pyw")):
                    yield os.path.join(folder, name)


def to_do(found):
    """Tell whether a finding asks the reader to change something."""
    fates = [found, *found["arguments"]]
    return any(fate["verdict"] != "same" for fate in fates) or found["silent"] or found["trap"]


def as_text(findings, colour):
    """Return the findings for a terminal."""

    def dye(code, text):
        return f"\033[{code}m{text}\033[0m" if colour else text

    hues = {"lost": "31", "recipe": "33", "gone": "36", "renamed": "34", "same": "32"}
    lines = []
    for found in findings:
        verdict = "trap" if found["trap"] else found["verdict"]
        marks = [found["certainty"]] + ["SILENT"] * found["silent"]
        where = "{path}:{line}:{column}".format(**found)
        if "cell" in found:
            where += " (cell {cell}, line {cell_line})".format(**found)
        head = [dye("1", where), dye(hues[found["verdict"]], verdict), ", ".join(marks)]
        lines += ["  ".join(head), "    " + found["call"]]
        lines.append("    write: " + (found["replacement"] or plain(found["write"])))
        lines += ["      " + line for line in found["hunk"].split("\n") if line]
        for one in found["arguments"]:
            says = [dye(hues[one["verdict"]], one["verdict"]), plain(one["write"])]
            says += [one["says"]] if "says" in one else []
            says += ["see " + one["page"]] if one["verdict"] not in ("renamed", "same") else []
            lines.append("      {}: {}".format(one["name"], "; ".join(says)))
        lines += ["    note: " + plain(note) for note in found["notes"]]
        lines += ["    " + found["works"]] if found["works"] else []
        lines += ["    see: " + found["page"], ""]
    return "\n".join(lines)


def plain(text):
    """Return text without the marks of Markdown."""
    return text.replace("`", "")


def summary(findings, count):
    """Return the last lines: how many of what, and where to start."""

    def counted(fates):
        verdicts = [fate["verdict"] for fate in fates]
        return ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts)

    lines = [f"{count} files read: {counted(findings) or 'nothing'} found."]
    passed = [one for found in findings for one in found["arguments"]]
    passed = counted(one for one in passed if one["verdict"] not in ("renamed", "same"))
    lines += [f"Of their arguments: {passed}."] if passed else []
    silent = [found for found in findings if found["silent"]]
    if silent:
        lines.append(f"{len(silent)} change without a message (SILENT): look at these first.")
    if any(found["works"] for found in findings):
        lines.append("Where it says that a call still works, you may leave it for now.")
    return "\n".join(lines)


def said(found):
    """Return a finding in one line."""
    parts = [found["call"], found["verdict"], found["replacement"] or plain(found["write"])]
    more = [
        "{}: {}, {}".format(one["name"], one["verdict"], plain(one["write"]))
        for one in found["arguments"]
        if one["verdict"] not in ("renamed", "same")
    ]
    return "; ".join([": ".join(parts[:2]), "write " + parts[2], *more, *found["notes"]])


def as_sarif(findings):
    """Return the findings as a SARIF 2.1.0 document."""
    import os

    rules, results = {}, []
    for found in findings:
        page = found["page"]
        rule = {"id": found["rule"], "shortDescription": {"text": plain(found["write"])}}
        rules[found["rule"]] = {**rule, "help": {"text": "See " + page}}
        if page.startswith("http"):
            rules[found["rule"]]["helpUri"] = page
        level = "warning" if to_do(found) else "note"
        address = found["path"].replace(os.sep, "/")
        region = {"startLine": found["line"], "startColumn": found["column"]}
        place = {"artifactLocation": {"uri": quoted(address)}, "region": region}
        result = {"ruleId": found["rule"], "level": level, "message": {"text": said(found)}}
        result["locations"] = [{"physicalLocation": place}]
        keys = ("verdict", "certainty", "silent", "works", "page")
        results.append({**result, "properties": {key: found[key] for key in keys}})
    driver = {"name": "find_gradients", "rules": list(rules.values())}
    if BASE:
        driver["informationUri"] = BASE
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def quoted(path):
    """Return a path as it stands in an address, whatever its bytes."""
    import os
    from urllib.parse import quote

    return quote(os.fsencode(path))


def as_github(findings):
    """Return the findings as annotations of a GitHub workflow."""
    lines = []
    for found in findings:
        kind = "warning" if to_do(found) else "notice"
        text = said(found) + " " + found["page"]
        for mark, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
            text = text.replace(mark, code)
        path = found["path"].replace("%", "%25").replace(",", "%2C").replace(":", "%3A")
        place = "file={},line={line},col={column},title={rule}".format(path, **found)
        lines.append(f"::{kind} {place}::{text}")
    return "\n".join(lines)


def fixed(text, findings):
    """Return a text in which each certain, local change is made."""
    joined = [found.start() for found in re.finditer("\r\n", text)]
    joined = [at - number for number, at in enumerate(joined)]  # where the finder sees "\n"
    edits = sorted(edit for found in findings for edit in found.get("edits", []))
    done, at = [], 0
    for places in edits:
        start, end = (place + bisect.bisect_left(joined, place) for place in places[:2])
        done += [text[at:start], places[2]]
        at = end
    result = "".join(done) + text[at:]
    return result if parses(result) else text  # rather nothing than something wrong


def mend(path, findings, source, diff):
    """Show or write the changes of `--fix`; return what is to be said about it."""
    text, encoding = source
    new = fixed(text, findings)
    if new == text:
        return ""
    if diff:
        sys.stdout.write(difference(path, text, new))
        return ""
    try:
        return written(path, text.encode(encoding), new.encode(encoding))
    except (OSError, UnicodeError) as error:
        return "not changed: " + (getattr(error, "strerror", None) or str(error))


def difference(path, old, new):
    """Return a patch; a line ends at its newline and nowhere else."""
    import difflib

    old, new = (re.findall("[^\n]*\n|[^\n]+", text) for text in (old, new))
    lines = difflib.unified_diff(old, new, path, path)
    tail = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + tail for line in lines)


def written(path, old, new):
    """Write a file whole or not at all, if it holds what was read; return what to say."""
    import os
    import tempfile

    path = os.path.realpath(path)  # a link stays one
    mode = os.stat(path).st_mode
    if not mode & 0o222:
        return "not changed: read-only"
    with open(path, "rb") as file:
        if file.read() != old:
            return "not changed: its bytes would not stay as they are"
    handle, scratch = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
        os.chmod(scratch, mode)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
    return "changed"


def options(arguments):
    """Return what is asked for on the command line."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="find_gradients.py",
        description="Find TensorFlow's old gradient calls, and say what to write instead.",
        epilog="It reads *.py and *.ipynb below folders; hidden folders, site-packages and "
        "node_modules are skipped. Your code is read and never run. Exit status: "
        "0 nothing to do, 1 something to do, 2 wrong usage. "
        "A verdict is one of: same, renamed, recipe (a few lines do it), gone (leave it "
        "out), lost. SILENT: it changes without a message.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, or - for input")
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="default: text")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="rename or drop old keywords of tapes, where certain",
    )
    parser.add_argument(
        "--diff", action="store_true", help="show what --fix would change, as a patch"
    )
    asked = parser.parse_args(arguments)
    if asked.fix and "-" in asked.paths:
        parser.error("--fix needs a file to write to; use --diff")
    return asked


def every(paths):
    """Yield path and result of each file; many files go to all processors."""
    import os

    if len(paths) < 50 or (os.cpu_count() or 1) < 2:
        yield from ((path, looked(path)) for path in paths)
        return
    import signal
    from concurrent.futures import ProcessPoolExecutor

    quiet = (signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the helpers without a traceback
    with ProcessPoolExecutor(initializer=signal.signal, initargs=quiet) as pool:
        yield from zip(paths, pool.map(looked, paths, chunksize=8))


def main(arguments=None):
    """Run the command line; return the exit status."""
    import os

    asked = options(arguments)
    missing = [path for path in asked.paths if path != "-" and not os.path.exists(path)]
    for path in missing:
        print(f"find_gradients.py: {path}: no such file or folder", file=sys.stderr)
    if missing:
        return 2
    paths, findings, progress = list(files(asked.paths)), [], sys.stderr.isatty()
    for number, (path, (found, message, source)) in enumerate(every(paths), 1):
        if progress and len(paths) > 200 and number % 20 == 0:
            print(f"\r{number} of {len(paths)} files", end="", file=sys.stderr)
        done = mend(path, found, source, asked.diff) if source and (asked.fix or asked.diff) else ""
        for said_of_it in filter(None, [message, done]):
            print(f"{path}: {said_of_it}", file=sys.stderr)
        findings += looked(path)[0] if done == "changed" else found  # what is left to do
    for found in findings:
        found.pop("edits", None)
    report(asked, findings, len(paths))
    return int(any(map(to_do, findings)))


def report(asked, findings, count):
    """Print the findings as asked for."""
    if asked.format == "json":
        print(json.dumps({"findings": findings, "files": count}, indent=1))
    elif asked.format == "sarif":
        print(json.dumps(as_sarif(findings), indent=1))
    elif asked.format == "github":
        print(as_github(findings))
    elif not asked.diff:
        if findings:
            print(as_text(findings, sys.stdout.isatty()))
        print(summary(findings, count))


def run():
    """Run as a program: a name that cannot be printed, a closed pipe or Ctrl-C is no failure."""
    import os

    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    except KeyboardInterrupt:
        status = 130
    return status


if __name__ == "__main__":
    sys.exit(run())
