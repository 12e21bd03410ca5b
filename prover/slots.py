"""What an optimizer keeps beside the weights: made now, found, and as it was at first."""

import contextlib
import copy
from types import SimpleNamespace

from .forms import NotComparable


def slots_of(optimizers):
    """Return the variables of some optimizers."""
    found = []
    for one in optimizers:
        slots = getattr(one, "variables", None) or getattr(one, "weights", ())
        found += slots() if callable(slots) else slots
    return found


def unwrapped(optimizer):
    """Return the optimizer inside one of tf.compat.v1.train, such as Horovod's, without slots."""
    inner = getattr(optimizer, "_optimizer", None) or getattr(optimizer, "_opt", None)
    return unwrapped(inner) if inner and hasattr(optimizer, "_non_slot_dict") else optimizer


def unstepped(optimizer, variables):
    """Return an optimizer, or another one as it was before it stepped; None if it does not tell."""
    if hasattr(optimizer, "_non_slot_dict"):  # of tf.compat.v1.train, which do not count steps
        return unstepped_v1(optimizer, variables)
    count = getattr(optimizer, "iterations", 0)
    if not hasattr(count, "__int__") or not int(count):
        return optimizer
    with contextlib.suppress(Exception):  # one written by hand may not say how it was made
        made = type(optimizer).from_config(optimizer.get_config())
        make_slots(made, getattr(optimizer, "_trainable_variables", variables))
        shapes = [[tuple(one.shape) for one in slots_of([some])] for some in (made, optimizer)]
        if shapes[0] == shapes[1]:
            return made
    return None


def unstepped_v1(optimizer, variables):
    """Return what stands for an optimizer of tf.compat.v1.train, with its slots as they began."""
    made = copy.copy(optimizer)
    made._slots, made._non_slot_dict, made._deferred_slot_restorations = {}, {}, {}
    make_slots(made, variables)
    fresh = flat_slots(made)
    first = {id(one): fresh.get(key, one) for key, one in flat_slots(optimizer).items()}
    return SimpleNamespace(variables=[first.get(id(one), one) for one in slots_of([optimizer])])


def flat_slots(optimizer):
    """Return the variables of an optimizer of tf.compat.v1.train by what it calls them."""
    groups = {**optimizer._slots, None: optimizer._non_slot_dict}
    return {(name, key): one for name, some in groups.items() for key, one in some.items()}


def make_slots(optimizer, variables):
    """Have an optimizer make its variables now, so that they can be put back."""
    if not hasattr(optimizer, "apply_gradients") and not hasattr(optimizer, "get_updates"):
        raise NotComparable(f"{optimizer!r} is no optimizer: it has no apply_gradients")
    if hasattr(optimizer, "build"):  # of Keras 3, and of Keras 2 from TensorFlow 2.11 on
        if not getattr(optimizer, "built", False):
            optimizer.build(variables)
    elif hasattr(optimizer, "_create_all_weights"):
        optimizer._create_all_weights(variables)
    elif hasattr(optimizer, "_create_hypers"):  # of TensorFlow 1.14 to 2.1
        optimizer._create_hypers()
        optimizer._create_slots(variables)
    elif hasattr(optimizer, "_create_slots"):  # of tf.compat.v1.train
        optimizer._prepare()
        optimizer._create_slots([one.value if hasattr(one, "path") else one for one in variables])
