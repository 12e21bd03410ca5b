"""A training step that can be put back and run again: a graph's, or a Python function's."""

import contextlib
from collections import namedtuple

from .arrays import np
from .feeds import as_fed, places_and_feeds
from .forms import UNITS, NotComparable, Weight, as_stored, first_line
from .slots import make_slots, slots_of, unstepped, unwrapped
from .summands import NUMBERS, Examples, ancestors, behind_imaginary, of_summands, summands_of

KEPT = "beta1_power", "beta2_power", "global_step"  # what optimizers keep beside their slots
ROUNDED_RATE = 1e-5  # of v1's Adam, whose 1 - beta_2**t is of single precision beside any weights
STOPS = {"StopGradient", "PyFunc", "EagerPyFunc", "Round", "Rint", "Floor", "Ceil", "Sign"}
SEED = "seed_generator_state"  # of Keras 3: put back, it draws the same again, as if by no chance
DRAWS = SEED, "StateVar"  # that of a tf.random.Generator, too
READS = {"ReadVariableOp", "ResourceGather", "VarHandleOp", "VariableV2", "Variable"}


COMPUTED = "losses gradients applied terms direct early summands worth"


class Computed(namedtuple("Computed", COMPUTED, defaults=((), (), (), ()))):
    """What a step computed: losses, gradients, those given to the optimizer, those of each loss.

    And, where a loss is computed from a gradient, those with that one held constant; the losses
    before the first train op that are others later; and the gradients of each summand of the loss,
    and what it adds.
    """


class GraphProgram:
    """A TensorFlow 1 program: a loss and a train op in a session."""

    def __init__(self, session, loss, inputs, train_op, variables, gradients):
        """Find the variables, and add the gradients where the program has none."""
        import tensorflow

        v1 = tensorflow.compat.v1
        if hasattr(session, "run_step_fn"):  # monitored: its hooks would save, count and stop
            session = session.run_step_fn(lambda step_context: step_context.session)
        self.session = session
        self.losses = dict(loss) if isinstance(loss, dict) else {"loss": loss}
        some = next(iter(self.losses.values()))
        self.graph = some.graph
        if self.session.graph is not self.graph:
            raise NotComparable("the loss is of another graph than the session's")
        trained = list(variables or self.graph.get_collection("trainable_variables"))
        if not trained:
            raise NotComparable("the graph has no trainable variables: pass variables=")
        known = {one.name for one in trained}
        others = [one for one in self.graph.get_collection("variables") if one.name not in known]
        names = [f"/{one.op.name}/" for one in trained]  # behind the scope of `minimize`
        self.kept = [
            one
            for one in others
            if one.op.name.split("/")[-1].rstrip("_0123456789") in KEPT
            or (
                any(name in "/" + one.op.name for name in names)
                and "ExponentialMovingAverage" not in one.op.name
            )
        ]
        self.others = [one for one in others if one not in self.kept]
        self.variables = trained + self.others
        self.places, self.feeds = places_and_feeds(self.graph, inputs)
        # An assignment to a resource variable is no operation, but has one.
        every = v1.nest.flatten(train_op)
        self.train_ops = [getattr(one, "op", one) for one in every if one is not None]
        final = self.graph.finalized
        if final:
            self.graph._unsafe_unfinalize()
        with self.graph.as_default():
            self.asked = self.gradients_of(v1, trained)
        if final:
            self.graph.finalize()
        self.changed = gradients is not None
        if self.changed:
            found = {one.name: gradient for gradient, one in gradients}
            self.asked[-1] = [found.get(one.name) for one in trained]
        tensors = [*self.losses.values(), *self.train_ops]
        ops = ancestors([getattr(one, "op", one) for one in tensors])
        losses = ancestors([one.op for one in self.losses.values()])
        names = [one.dtype.base_dtype.name for one in trained]
        self.unit, self.rates = graph_precision(ops, losses, names)
        self.kinds, self.silent = sorted({one.type for one in ops}), False
        self.overridden, self.stops = overridden(ops), stops_of([op.node_def for op in ops])
        self.imaginary = behind_imaginary(ops, {one.op for one in trained})

    def gradients_of(self, v1, trained):
        """Add gradients, and return those asked for in each step; the optimizers' stand last."""
        losses = list(self.losses.values())
        self.through_gradient = [n for n, one in self.losses.items() if inner_gradients(one)]
        self.direct = [
            v1.gradients(one, trained, stop_gradients=inner_gradients(one))
            for one in (losses if self.through_gradient else ())
        ]
        each = [v1.gradients(one, trained) for one in losses]
        self.summands, self.worth, self.of_examples, parts = {}, [], None, []
        size = sum(one.shape.num_elements() or 0 for one in trained)
        if len(losses) == 1:
            with contextlib.suppress(Exception):  # they explain, and are no part of the proof
                found = summands_of(losses[0], trained, self.places)
                if size * len(found) < NUMBERS:
                    examples = Examples(v1, losses[0], found, trained)
                    found = found if len(found) > 1 else {}
                    self.worth, parts = of_summands(v1, losses[0], found, trained)
                    self.summands, self.of_examples = found, examples
        return [*each, *self.direct, *parts, given_to_optimizers(self.train_ops, trained)]

    def weights(self):
        """Return a `Weight` for each variable, trained ones first."""
        trained = len(self.variables) - len(self.others)
        return [
            Weight(one.op.name, tuple(one.shape.as_list()), one.dtype.base_dtype.name, k < trained)
            for k, one in enumerate(self.variables)
        ]

    def batches(self, steps):
        """Return the inputs of each step, as lists of arrays."""
        if self.feeds is None:
            return [[np.array(one) for one in self.session.run(self.places)] for _ in range(steps)]
        return [
            [as_fed(place, self.feeds[t % len(self.feeds)][place]) for place in self.places]
            for t in range(steps)
        ]

    def read(self):
        """Return the value of each variable."""
        return [as_stored(np.array(one)) for one in self.session.run(self.variables)]

    def load(self, values, variables=None):
        """Give variables their values; this adds no operation to the graph."""
        for one, value in zip(variables or self.variables, values):
            self.session.run(one.initializer, {one.initializer.inputs[1]: value})

    def fresh(self):
        """Put the optimizer back to where training starts."""
        self.session.run([one.initializer for one in self.kept])

    def keep(self):
        """Return everything that a step can change, for `restore`."""
        every = self.variables + self.kept
        return every, [np.array(one) for one in self.session.run(every)]

    def restore(self, kept):
        """Put back what `keep` returned."""
        self.load(kept[1], kept[0])

    def run(self, inputs):
        """Run one step, each train op after the losses before it; return a `Computed`."""
        feed = dict(zip(self.places, inputs))
        losses, rows, applied, direct, *parts = self.evaluate(feed)
        gradients = [next((g for g in column if g is not None), None) for column in zip(*rows)]
        terms, early = rows, [None] * len(losses)
        for number, op in enumerate(self.train_ops):
            if number:  # what the operations before it have changed counts
                later, terms, given, *_ = self.evaluate(feed)
            before = self.read()
            self.session.run(op, feed)
            for k, (old, new) in enumerate(zip(before, self.read()[: len(gradients)])):
                if not np.array_equal(old, new):
                    gradients[k] = terms[min(number, len(terms) - 1)][k]
                    applied[k] = given[k] if number else applied[k]
            if number and number < len(losses):
                name = list(losses)[number]
                early[number], losses[name] = losses[name], later[name]
        if self.changed:
            gradients, applied = applied, [None] * len(applied)
        terms = rows if len(rows) > 1 or self.changed else []
        return Computed(losses, gradients, applied, terms, direct, early, *parts)

    def examples(self, inputs):
        """Return what each example adds to the gradients, as `Step` has it; or nothing."""
        sizes = [one.shape.num_elements() for one in self.variables]
        with contextlib.suppress(Exception):  # they explain, and are no part of the proof
            return self.of_examples.table(self.session, dict(zip(self.places, inputs)), sizes)
        return []

    def evaluate(self, feed):
        """Return losses, gradients of each, what optimizers get, and the rest; change nothing."""
        kept = self.keep()
        asked = [[*self.losses.values(), *self.worth], *map(present, self.asked)]
        found = self.session.run(asked, feed)
        if any(not np.array_equal(a, b) for a, b in zip(kept[1], self.keep()[1])):
            self.restore(kept)
        rows = []
        for values, places in zip(map(iter, found[1:]), self.asked):
            rows.append([None if one is None else next(values) for one in places])
        losses, count = dict(zip(self.losses, map(np.array, found[0]))), len(self.losses)
        parts = count + len(self.direct)
        worth = list(map(np.array, found[0][count:]))
        return losses, rows[:count], rows[-1], rows[count:parts], rows[parts:-1], worth


def present(values):
    """Return those that are not None."""
    return [one for one in values if one is not None]


def stops_of(nodes, functions=()):
    """Return how often operations through which no gradient goes stand behind a variable.

    Those of `functions` count, too, where a node calls one.
    """
    bodies = {one.signature.name: one.node_def for one in functions}
    count, open_bodies = 0, [nodes]
    while open_bodies:
        nodes = open_bodies.pop()
        count += stops_among(nodes)
        values = [one for node in nodes for one in node.attr.values()]
        called = {one.name for value in values for one in (value.func, *value.list.func)}
        open_bodies += [bodies.pop(name) for name in called if name in bodies]
    return count


def stops_among(nodes):
    """Return how many of some nodes stop the gradient by a variable that they read."""
    inputs = {
        node.name: {one.split(":")[0] for one in node.input if not one.startswith("^")}
        for node in nodes
    }
    kinds = {node.name: node.op for node in nodes}
    # tf.nn.moments stops the mean in the variance, where its gradient is 0 anyway.
    used = {name for node in nodes if node.op != "SquaredDifference" for name in inputs[node.name]}
    count = 0
    for name in (one for one, kind in kinds.items() if kind in STOPS and one in used):
        seen, open_names = set(), [name]
        while open_names:
            one = open_names.pop()
            if one not in seen:
                seen.add(one)
                open_names += inputs.get(one, ())
        count += any(kinds.get(one) in READS for one in seen)
    return count


def inner_gradients(loss):
    """Return the tensors of a gradient from which a loss is computed."""
    ops = ancestors([loss.op])
    used = [tensor for op in ops if "gradients" not in op.name for tensor in op.inputs]
    return [one for one in {id(t): t for t in used}.values() if "gradients" in one.op.name]


def overridden(ops):
    """Return the name of an operation whose gradient a graph overrides, or nothing."""
    for op in sorted(ops, key=lambda one: one.name):
        kind = op.node_def.attr["_gradient_op_type"].s.decode()
        if kind and not kind.startswith(("CustomGradient", "PartitionedCall")):
            return op.name
    return ""


def given_to_optimizers(train_ops, trained):
    """Return for each weight the dense gradient that its Apply operation gets, or None."""
    found = {}
    for op in ancestors(train_ops):
        if "Apply" in op.type and "Sparse" not in op.type and len(op.inputs) > 1:
            for place, tensor in zip(op.op_def.input_arg, op.inputs):
                if place.name in ("grad", "delta"):
                    found[op.inputs[0].op.name] = tensor
    return [found.get(one.op.name) for one in trained]


def single_precision(ops):
    """Return {"float32"} if one of some operations computes in it, as those of tf.losses do."""
    sides = ({one.dtype.base_dtype.name for one in (*op.inputs, *op.outputs)} for op in ops)
    named = zip(ops, sides)
    return (
        {"float32"}
        if any(op.type != "Identity" and side == {"float32"} for op, side in named)
        else set()
    )


def graph_precision(ops, losses, weights):
    """Return the unit in the last place of a graph, and by how much its rates may be rounded.

    Args:
        ops: All operations of a step.
        losses: Those on which its losses depend.
        weights: The names of the data types of its weights.
    """
    kinds = {tensor.dtype.base_dtype.name for op in ops for tensor in op.outputs} - {"float32"}
    unit = lowest_unit(kinds | single_precision(losses), weights)
    return unit, ROUNDED_RATE if unit < UNITS["float32"] and single_precision(ops) else 0.0


def lowest_unit(kinds, weights):
    """Return the unit in the last place of the lowest precision in which a program computes.

    Args:
        kinds: The names of the data types of its operations, but for those of mere constants.
        weights: The names of the data types of its weights.
    """
    kinds = {"float16", "half", "bfloat16", "float32"} & set(kinds)
    names = [name.replace("complex64", "float32") for name in weights]
    names = [name.replace("complex128", "float64") for name in names]
    units = [UNITS[name] for name in [*kinds, *names] if name in UNITS]
    return max(units, default=UNITS["float32"])


class StepProgram:
    """A Python function that does one training step, and the variables that it changes."""

    def __init__(self, step, variables, optimizer=None, session=None, batches=None):
        """Take the variables of a model, and have the optimizer make its own."""
        self.step, self.session, self.given = step, session, batches
        every = list(getattr(variables, "variables", variables))
        self.seeds = [one for one in every if SEED in getattr(one, "path", "")]
        every = [one for one in every if SEED not in getattr(one, "path", "")]
        if not every:
            raise NotComparable("no variables are given; call the model once, then pass it")
        odd = [one for one in every if not hasattr(one, "assign")]
        if odd:
            raise NotComparable(f"{odd[0]!r} is no variable")
        trained = [one for one in every if one.trainable]
        self.trained = trained
        self.variables = trained + [one for one in every if not one.trainable]
        given = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
        self.optimizers = [unwrapped(one) for one in given if one is not None]
        for one in self.optimizers:
            make_slots(one, trained)
        self.unit, self.kinds = lowest_unit([], [kind_of(one) for one in trained]), []
        self.silent, self.changed, self.rates, self.summands = False, False, 0.0, ()
        self.overridden, self.through_gradient, self.stops, self.imaginary = "", [], 0, []
        first = [one if session else unstepped(one, trained) for one in self.optimizers]
        self.notes = [
            f"{type(one).__name__} has stepped before, and goes on from what it holds: pass one "
            "that has not"
            for one, made in zip(self.optimizers, first)
            if made is None
        ]
        self.adopted = [], []
        # Those around others may hold more, such as a loss scale; the slots inside are loaded last.
        around = [one for one in given if one not in [None, *self.optimizers]]
        self.kept = self.slots(around + self.optimizers)
        began = [made or one for one, made in zip(self.optimizers, first)]
        self.first = self.values(self.slots(around + began))
        if session:
            held = self.first
            session.run([one.initializer for one in self.kept])
            self.first = self.values(self.kept)
            self.load(held, self.kept)

    def examples(self, inputs):
        """Return nothing: a function does not tell what its examples add."""
        return []

    def adopt(self, variables):
        """Take charge of other variables that the step turned out to use: it must not keep them."""
        known = {id(getattr(one, "value", one)) for one in self.variables + self.kept}
        known.update(id(one) for one in self.variables + self.kept)
        more = [one for one in variables if id(one) not in known]
        for one in more:
            if not one.is_initialized():
                raise NotComparable(
                    f"the step makes {one.name.strip()} itself, without a value before the first "
                    "step: pass the optimizer as optimizer=, or build it before"
                )
        self.adopted = more, self.values(more)
        more = [one for one in more if not any(name in one.name for name in DRAWS)]
        self.first += self.values(more)
        self.kept += more

    def slots(self, optimizers):
        """Return the variables of optimizers that are not among those that are passed."""
        known = {id(one) for one in self.variables}
        return [one for one in slots_of(optimizers) if id(one) not in known]

    def weights(self):
        """Return a `Weight` for each variable, trained ones first."""
        return [
            Weight(
                getattr(one, "path", one.name).split(":")[0],
                tuple(int(size) for size in one.shape),
                kind_of(one),
                k < len(self.trained),
            )
            for k, one in enumerate(self.variables)
        ]

    def batches(self, steps):
        """Return the inputs of each step, as lists of arrays."""
        batches = self.given if isinstance(self.given, list) else [self.given]
        return [[np.array(one) for one in batches[t % len(batches)]] for t in range(steps)]

    def values(self, variables):
        """Return the value of each of some variables."""
        if self.session:
            return [as_stored(np.array(one)) for one in self.session.run(list(variables))]
        return [as_stored(np.array(one.numpy())) for one in variables]

    def read(self):
        """Return the value of each variable."""
        return self.values(self.variables)

    def load(self, values, variables=None):
        """Give variables their values."""
        import tensorflow as tf

        for one, value in zip(self.variables if variables is None else variables, values):
            if value is None:
                continue
            if self.session:
                self.session.run(one.initializer, {one.initializer.inputs[1]: value})
            else:
                one.assign(tf.cast(value, kind_of(one)))

    def fresh(self):
        """Put the optimizer back to where training starts."""
        self.load(self.first, self.kept)

    def keep(self):
        """Return everything that a step can change, for `restore`."""
        every = self.variables + self.kept + self.seeds
        return every, self.values(every)

    def restore(self, kept):
        """Put back what `keep` returned."""
        self.load(kept[1], kept[0])

    def run(self, inputs):
        """Run one step; return a `Computed`."""
        import tensorflow as tf

        if not self.session:
            inputs = [tf.convert_to_tensor(one) for one in inputs]
        try:
            returned = self.step(*inputs)
        except Exception as error:
            raise NotComparable(f"the step raises {first_line(error)}") from error
        loss, gradients = returned, None
        if isinstance(returned, (list, tuple)):
            loss = returned[0] if returned else None
            gradients = list(returned[1]) if len(returned) > 1 else None
        losses = loss if isinstance(loss, dict) else {"loss": loss}
        if any(one is None for one in losses.values()):
            raise NotComparable("the step returned no loss: return loss, gradients")
        self.silent = gradients is None
        if any(isinstance(one, (tuple, list)) for one in gradients or ()):
            raise NotComparable("the step returned pairs: return the gradients without variables")
        if gradients is not None and len(gradients) != len(self.trained):
            raise NotComparable(
                f"the step returned {len(gradients)} gradients, and {len(self.trained)} of the "
                "variables are trained: return one for each, in their order"
            )
        numbers = {name: np.array(as_array(one)) for name, one in losses.items()}
        return Computed(numbers, gradients, [None] * len(self.trained), [])


def kind_of(variable):
    """Return the name of a variable's data type; Keras 3 says it as a string."""
    kind = variable.dtype
    return kind if isinstance(kind, str) else kind.base_dtype.name


def as_array(value):
    """Return the array of a tensor, or of what is a number already."""
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)
