"""How far two arrays are apart, and how far rounding may bring them."""

from .arrays import np

EXACT = 1e-6  # what rounding makes of numbers that are the same
TIMES = 8  # by how much a difference may exceed what rounding alone was measured to make


def relative_difference(new, old):
    """Return the norm of a difference in units of the old norm; None counts as zeros.

    Args:
        new: An array of any shape, or None.
        old: An array of that shape, or None.

    Returns:
        0.0 where both are equal or without elements, infinity where only the new one is not zero
        or a number is not finite in one of them alone.
    """
    if new is None or old is None:
        other = old if new is None else new
        return 0.0 if other is None or not np.any(other) else float("inf" if old is None else 1)
    new, old = wide(new), wide(old)
    if new.shape != old.shape:
        return float("inf")
    if np.all((new == old) | (np.isnan(new) & np.isnan(old))):
        return 0.0
    with np.errstate(all="ignore"):
        size, gap = np.linalg.norm(old.ravel()), np.linalg.norm((new - old).ravel())
        return float(gap / size) if size and np.isfinite(gap / size) else float("inf")


def wide(values):
    """Return an array in double precision."""
    values = np.asarray(values)
    return values.astype("c16" if values.dtype.kind == "c" else "f8")


def norm_of(values):
    """Return the norm of an array of any shape."""
    return float(np.linalg.norm(wide(values).ravel()))


def factor_between(new, old):
    """Return the factor by which old arrays become new ones, and what it leaves unexplained.

    Args:
        new: A list of arrays.
        old: Arrays of the same shapes.

    Returns:
        The factor of least squares, and the norm of the rest in units of the new norm.
    """
    new, old = (np.concatenate([wide(one).ravel() for one in side]) for side in (new, old))
    with np.errstate(all="ignore"):
        factor = np.vdot(old, new) / np.vdot(old, old)
        rest = np.linalg.norm(new - factor * old) / np.linalg.norm(new)
    return factor, float(rest) if np.isfinite(rest) else float("inf")


def common_factor(new, old):
    """Return the factor that arrays share which have one alone, as clipping makes it; or 1.0."""
    pairs = [(a, b) for a, b in zip(new, old) if np.size(a) > 3 and a is not None and np.any(b)]
    fits = [factor_between([a], [b]) for a, b in pairs if b is not None]
    alone = [float(np.real(factor)) for factor, rest in fits if rest < 1e-6]
    same = alone and np.ptp(alone) < 1e-5 * abs(alone[0])
    return alone[0] if same and abs(alone[0] - 1) > 1e-5 else 1.0
