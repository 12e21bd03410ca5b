"""When two outputs agree, and in how many ways one could be wrong."""

import math
import re

TOKEN = re.compile(r"(?P<float>[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e[-+]?\d))(?:e[-+]?\d+)?)|\w+|[^\w\s]")
STATED = re.compile(r"(?<!\w)\d+(?:\.\d+)?|\b(?:\w+(?:Error|Exception|Warning)|True|False|None)\b")
SWAP = {"True": "False", "False": "True", "None": "True", "ValueError": "TypeError"}


def digits(number):
    """Return the significant digits of a number as printed, without zeros at either end."""
    return re.sub(r"e.*|[-+.]", "", number).strip("0")


def same(expected, printed):
    """Tell whether two outputs agree: text up to spacing, floats to just below 1e-5.

    Where six digits are expected, floats agree to just below 1e-6.
    """

    def close(a, b):
        tolerance = 9e-6 if len(digits(a)) < 6 else 9e-7
        return math.isclose(float(a), float(b), rel_tol=tolerance)

    pairs = [list(TOKEN.finditer(text)) for text in (expected, printed)]
    return len(pairs[0]) == len(pairs[1]) and all(
        a[0] == b[0] or (a["float"] and b["float"] and close(a[0], b[0]))
        for a, b in zip(*pairs, strict=True)
    )


def wrong_variants(output):
    """Yield `output` with one number, exception or truth value changed, in every way we try.

    A number is changed in its first significant digit and in its last printed one.
    """
    for found in STATED.finditer(output):
        if found[0][0].isdigit():
            digits = [digit.start() for digit in re.finditer(r"\d", found[0])]
            first = next((i for i in digits if found[0][i] != "0"), digits[0])
            words = [
                found[0][:i] + str(int(found[0][i]) % 9 + 1) + found[0][i + 1 :]
                for i in {first, digits[-1]}
            ]
        else:
            words = [SWAP.get(found[0], "ValueError")]
        yield from (output[: found.start()] + word + output[found.end() :] for word in words)
