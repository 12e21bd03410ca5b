"""Find what TensorFlow code asks of the old gradient functions, and say what to write instead.

    python find_gradients.py src/ notebook.ipynb

One file, standard library only, Python 3.7 and later. It reads and never runs your code.
Names are followed through imports, aliases and attributes. What is not Python 3 is mended
first (Python 2, notebooks), or searched for names where that fails; both are said.
"""

import sys

from .command import run_command
from .plugin import Flake8Plugin

PUBLIC = (run_command, Flake8Plugin)  # what is installed looks for them here


def main():
    """Run as a program that was installed."""
    sys.exit(run_command())


if __name__ == "__main__":
    main()
