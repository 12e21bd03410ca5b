"""Feeds: which tensors of a graph are fed, and what."""

import contextlib

from .arrays import np
from .forms import NotComparable, first_line


def places_and_feeds(graph, inputs):
    """Return the tensors that are fed, and a list of feed dictionaries; or None, for a pipeline.

    Raises:
        NotComparable: The dictionaries feed different tensors.
    """
    every = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    feeds = bool(every) and isinstance(every[0], dict)
    if not (feeds and any(map(is_value, every[0].values()))):
        # Tensors of a pipeline: what they give is recorded, and fed again.
        each = [one.values() if isinstance(one, dict) else [one] for one in every]
        return [place for places in each for place in places], None
    every = [{place_of(graph, key): one[key] for key in one} for one in every]
    if any(set(one) != set(every[0]) for one in every):
        raise NotComparable("the feed dictionaries do not all name the same placeholders")
    return list(every[0]), every


def place_of(graph, key):
    """Return the tensor that a feed dictionary names, perhaps by its name."""
    with contextlib.suppress(KeyError, ValueError):  # the session says what is wrong with it
        return graph.get_tensor_by_name(key) if isinstance(key, str) else key
    return key


def as_fed(place, value):
    """Return a value of a feed as an array, of the type of its placeholder.

    Raises:
        NotComparable: It is none.
    """
    kind = getattr(place, "dtype", None)
    kind = np.dtype(kind.base_dtype.as_numpy_dtype) if kind else None
    try:
        return np.array(value, None if kind is None or kind.kind == "O" else kind)
    except (TypeError, ValueError) as error:
        raise NotComparable(
            f"what is fed for {place!r} is no array (of a sparse or ragged placeholder, feed each "
            f"tensor, such as its values): {first_line(error)}"
        ) from error


def is_value(value):
    """Return whether a feed is a value, and not a tensor."""
    return not hasattr(value, "graph") and value is not None
