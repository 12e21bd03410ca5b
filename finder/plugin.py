"""A plugin of flake8, for editors and CI that have it."""

from .find import findings
from .report import one_line
from .rules import VERSION


class Flake8Plugin:
    """Reports each finding under its code."""

    name = "find-tf-gradients"
    version = VERSION

    def __init__(self, tree, filename, lines):
        """Take what flake8 has of a file; its own `# noqa` works."""
        self.filename, self.lines = filename, lines

    def run(self):
        """Yield line, column, message and type of each finding."""
        for found in findings("".join(self.lines), self.filename):
            yield found.line, found.column - 1, f"{found.code} {one_line(found)}", type(self)
