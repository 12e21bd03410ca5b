"""What the site's examples are, and how they are run and compared."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS, SNIPPETS = ROOT / "docs", ROOT / "snippets"


def relative(path):
    """Name a file as the reader of an error would type it."""
    return str(Path(path).relative_to(ROOT))
