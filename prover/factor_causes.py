"""What a number is by which a loss, or a gradient, is multiplied."""

from .arrays import np
from .differences import wide
from .reasons import reason

REPLICAS = (2, 4, 8, 16)


def named_factor(case, ratios, what, sizes=None):
    """Return the cause of a factor that is the same in each step, or goes with the inputs.

    A mean instead of a sum is looked for among `sizes`, those of the inputs if left out.
    """
    sizes = sizes_of_inputs(case) if sizes is None else sizes
    ratios = np.real(ratios)
    factor, steps = float(np.mean(ratios)), len(case.old.steps)
    if steps < 2 or not np.all(np.isfinite(ratios)) or not np.all(ratios):
        return None
    evidence = f"{what} is {factor:.6g} times the old one in each of {steps} steps"
    if factor < 0 and np.ptp(ratios) < 1e-2 * abs(factor):
        return reason("sign", evidence, place=what.capitalize())
    if np.ptp(ratios) > 1e-4 * abs(factor):
        return weights_factor(case, ratios, what)
    whole = max(factor, 1 / factor)
    less = [size for size in sizes if size > 2 and abs(whole - size / (size - 1)) < 1e-5]
    if less:
        what = sizes[less[0]]
        return reason("batch-factor", evidence, said_as="one-less", number=less[0], what=what)
    number = round(whole)
    if number < 2 or abs(whole - number) > 1e-3 * number:
        return weights_factor(case, ratios, what) or other_divisor(case, ratios, evidence)
    scale = number >= 32 and number & (number - 1) == 0
    if scale and case.kind == "gradient" and "batch size" not in sizes.get(number, ""):
        return reason("loss-scale", evidence, number=number)
    if number in sizes:
        return reason("batch-factor", evidence, number=number, what=sizes[number])
    if number in REPLICAS and not weights_factor(case, ratios, what):
        return reason("replica-factor", evidence, number=number)
    if scale:
        return reason("loss-scale", evidence, number=number)
    batches = [size for size, said in sizes.items() if "batch size" in said and size > 2]
    for size in batches:
        if number % size == 0:
            what = f"{number // size} times {sizes[size]}"
            return reason("batch-factor", evidence, number=number, what=what)
    return weights_factor(case, ratios, what)


def other_divisor(case, ratios, evidence):
    """A factor near 1 that never changes: the mean divides by a little more, or a little less."""
    factor, rounding = np.mean(ratios), case.tolerance["loss"]
    near = 5 * np.median(rounding) < abs(factor - 1) < 0.1
    spread = max(0.05 * abs(factor - 1), 2 * rounding.max())
    if case.kind != "loss" or not near or np.ptp(ratios) > spread:
        return None
    number = f"{1 / factor:.6g}"
    return reason("batch-factor", evidence, "possible", said_as="divisor", number=number)


def sizes_of_inputs(case):
    """Return the numbers by which a mean could divide, and what they are."""
    found = {}
    shapes = [np.shape(one) for one in case.old.steps[0].inputs]
    for name, shape in zip(case.old.about["inputs"], shapes):
        if shape:
            found.setdefault(shape[0], f"the batch size, of {name}")
            found.setdefault(int(np.prod(shape)), f"the number of elements of {name}")
            for size in (*shape[1:], int(np.prod(shape[1:]))):
                if size not in REPLICAS:
                    found.setdefault(size, f"a size of {name}")
    for name, shape in zip(case.old.about["inputs"], shapes):
        if len(shape) > 1 and shape[-1] - 1 not in REPLICAS:  # one predicts the next of them
            found.setdefault(shape[-1] - 1, f"a size of {name}, less one")
    return found


def weights_factor(case, ratios, what):
    """The factor goes with the mean or the sum of an input: weights of examples."""
    if len(ratios) != len(case.old.steps):
        return None
    sizes = sizes_of_inputs(case)
    limit = min(1e-4, 0.05 * abs(ratios[0] - 1))  # where the mean is 1, it explains nothing
    for k, name in enumerate(case.old.about["inputs"]):
        first = case.old.steps[0].inputs[k]
        values = [wide(one.inputs[k]) for one in case.old.steps]
        whole = first.dtype.kind in "iu"  # labels, and numbers of rows, where some count for none
        counted = whole or (first.dtype.kind == "f" and min(map(np.min, values)) >= 0)
        if not first.ndim or not counted:
            continue
        measured = (
            ("count that is not negative", [np.sum(one >= 0) for one in values]),
            ("count that is not zero", [np.sum(one != 0) for one in values]),
            ("mean", [one.mean() for one in values]),
            ("sum", [one.sum() for one in values]),
            ("share that is not zero", [np.mean(one != 0) for one in values]),
            ("mean of those not zero", [one[one != 0].mean() for one in values]),
        )
        for label, numbers in measured[:2] if whole else measured[1:]:
            more = (1 / ratios - 1) * np.array(numbers)
            told = 0.2 * np.ptp(numbers) / np.mean(numbers)  # by how these change from step to step
            added = np.ptp(more) < min(0.05, told) * abs(more[0]) and abs(more[0]) < 1
            if added and (label == "sum" or "count" in label):
                evidence = f"the {label}, of {name}, is {more[0]:.3g} more, it seems"
                number = f"{1 / ratios[0]:.6g}"
                return reason("batch-factor", evidence, said_as="divisor", number=number)
            for power in (1, -1):
                rest = ratios / np.array(numbers, "f8") ** power
                steady = np.ptp(rest) < 1e-4 * abs(rest[0])
                if steady and "count" in label and abs(rest[0] - 1) < 1e-4:
                    said, number = f"the {label}, of {name}", f"{numbers[0]:.6g}"
                    return reason("batch-factor", f"{what} goes with it", number=number, what=said)
                by = round(max(rest[0], 1 / rest[0]))
                exact = steady and abs(max(rest[0], 1 / rest[0]) / by - 1) < 1e-4
                some = np.ptp(numbers) if whole else set(np.unique(first)) == {0, 1}
                if exact and some and "count" in label and by in sizes:
                    said = f"{sizes[by]}, and the other one is the {label}, of {name}"
                    evidence = f"{what} is one of these by the other"
                    return reason("batch-factor", evidence, number=by, what=said)
                if steady and (np.ptp(ratios) > 1e-3 * abs(ratios[0]) or abs(rest[0] - 1) < limit):
                    evidence = f"{what} goes with the {label} of {name}"
                    return reason("sample-weights", evidence, name=name)
    return None
