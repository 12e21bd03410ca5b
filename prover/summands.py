"""The summands of which a loss is made: what each adds to it, and to the gradients.

And what each example adds, which are summands of summands.
"""

import time

from .arrays import np
from .passes import dense

WEIGHTS = "of weights alone"
LINEAR = {"Identity", "Neg", "Mean", "Sum", "Reshape", "Squeeze", "ExpandDims", "Cast"}
SUMS = {"Add", "AddV2", "AddN", "Sub"}
SQUARES = LINEAR | SUMS | {"Mul", "Square", "L2Loss", "Pow", "Abs", "Placeholder", "Const", "Pack"}
SQUARES |= {"Gather", "GatherV2", "ResourceGather", "VarHandleOp", "ReadVariableOp", "VariableV2"}
SQUARES |= {"Range", "Shape", "StridedSlice", "RealDiv"}
PRODUCTS = {"Mul", "RealDiv", "DivNoNan"}
EXAMPLES = 200  # whose gradients are recorded one by one, at most
PATIENCE = 60  # seconds that these may take
EACH = 4  # elements of gradients for each of them, at most; at least 1.5
SUMMANDS = 6  # more of them tell less than they cost
NUMBERS = 2e6  # of the weights in all: a record holds as many for each summand and step


def summands_of(loss, trained, places):
    """Return by name the tensors that a loss adds up: of many, the sums that it begins with.

    Args:
        loss: A scalar tensor of a graph.
        trained: The variables that are trained.
        places: What is fed.
    """
    weights = {one.op for one in trained}
    fed = {one.op for one in places if hasattr(one, "op")}

    def within(tensor):
        op = tensor.op
        behind = [one for one in op.inputs if ancestors([one.op], False) & weights]
        if op.type in SUMS or (op.type in PRODUCTS and along_one(op, behind)):
            return behind
        linear = op.type in LINEAR and behind and behind[0].dtype.is_floating
        return op.inputs[:1] if linear else []

    open_tensors, closed = [loss], []
    while open_tensors:
        tensor = open_tensors.pop(0)
        inner = within(tensor)
        if inner and len(open_tensors) + len(closed) + len(inner) <= SUMMANDS:
            open_tensors += inner
        else:
            closed.append(tensor)
    return {f"{t.op.name}, {WEIGHTS}" if of_weights_alone(t, fed) else t.op.name: t for t in closed}


def of_weights_alone(tensor, fed):
    """Return whether a tensor is made of weights alone, or of the squares of rows of these."""
    behind = ancestors([tensor.op], False)
    kinds, rows = {one.type for one in behind}, behind & fed
    plain = bool(kinds & {"Square", "L2Loss", "Pow", "Abs"}) and kinds <= SQUARES
    return not rows or (plain and all(one.outputs[0].dtype.is_integer for one in rows))


def along_one(op, behind):
    """Return whether a product, or a quotient, is linear in what is computed from weights."""
    return len(behind) == 1 and (op.type == "Mul" or behind[0] is op.inputs[0])


def ancestors(ops, control=True):
    """Return the operations on which some depend, and these; `control` counts control inputs."""
    seen, open_ops = set(), list(ops)
    while open_ops:
        op = open_ops.pop()
        if op not in seen:
            seen.add(op)
            open_ops += [one.op for one in op.inputs] + list(op.control_inputs if control else ())
    return seen


def behind_imaginary(ops, weights):
    """Return the names of weights behind the imaginary part of numbers, and not the real one."""
    parts = [[ancestors([one.op]) for one in op.inputs] for op in ops if op.type == "Complex"]
    return sorted({one.name for real, imaginary in parts for one in weights & imaginary - real})


def of_summands(v1, loss, summands, trained):
    """Return tensors: what each summand adds to a loss, and for each its gradients."""
    every = list(summands.values())
    by = v1.gradients(loss, every, stop_gradients=every) if every else []
    worth = [v1.reduce_sum(g * t) for g, t in zip(by, every)]
    return worth, [v1.gradients(t, trained, grad_ys=g) for g, t in zip(by, every)]


class Examples:
    """What each example, or each element of the losses of examples, adds to loss and gradients."""

    def __init__(self, v1, loss, summands, trained):
        """Add to the graph what is asked for one example after the other."""
        data = [t for name, t in summands.items() if not name.endswith(WEIGHTS)]
        some = [t for t in data if t.shape.ndims != 0]
        by = v1.gradients(loss, some, stop_gradients=some) if some else []
        self.hidden = [v1.equal(one, 0) for one in by]
        by = [where_hidden(v1, one) for one in by]
        self.losses = [g * t for g, t in zip(by, some)]
        self.shares = [v1.placeholder(t.dtype, t.shape) for t in some]
        grad_ys = [g * share for g, share in zip(by, self.shares)]
        found = v1.gradients(some, trained, grad_ys=grad_ys) if some else []
        self.gradients = [one for one in found if one is not None]
        self.places = [k for k, one in enumerate(found) if one is not None]

    def table(self, session, feed, sizes):
        """Return what `Step.examples` holds, or nothing.

        Args:
            session: The session.
            feed: What is fed.
            sizes: The number of elements of each weight.
        """
        first = np.cumsum([0, *sizes])
        columns = [np.arange(first[k], first[k + 1]) for k in self.places]
        columns = np.concatenate([*columns, []]).astype(int)
        values, hidden = session.run([self.losses, self.hidden], feed)
        values = list(map(np.array, values))
        sizes = [one.size for one in values]
        sizes = sizes if sum(sizes) <= EXAMPLES else [len(one) for one in values]
        if not 1 < sum(sizes) <= min(EXAMPLES, len(columns) / 1.5):
            return []
        kept = np.random.RandomState(0).permutation(len(columns))[: EACH * sum(sizes)]
        rows, losses, groups, begun = [], [], [], time.time()
        for k, n in ((k, n) for k, size in enumerate(sizes) for n in range(size)):
            if time.time() - begun > PATIENCE:
                return []
            shares = [np.zeros_like(one) for one in values]
            shares[k].reshape(sizes[k], -1)[n] = 1
            given = session.run(self.gradients, {**feed, **dict(zip(self.shares, shares))})
            rows.append(np.concatenate([dense(one)[0].ravel() for one in given])[kept])
            losses.append(np.sum(values[k] * shares[k]))
            groups.append(-1 if np.all(hidden[k][shares[k] > 0]) else k)
        return [columns[kept], np.array(rows), np.array(losses), np.array(groups)]


def where_hidden(v1, by):
    """Return by what losses are multiplied, with another's in place of 0, which a mask makes."""
    every = v1.reshape(by, [-1])
    most = v1.gather(every, v1.argmax(v1.abs(every)))
    return v1.where(v1.equal(by, 0), v1.ones_like(by) * most, by)
