"""NumPy, which `--help` does without."""

try:
    import numpy as np
except ImportError:
    np = None
