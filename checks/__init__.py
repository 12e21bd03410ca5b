"""How the site's examples are run, compared and replayed, and what its pages claim."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS, SNIPPETS = ROOT / "docs", ROOT / "snippets"


def relative(path):
    """Name a file as the reader of an error would type it."""
    return str(Path(path).relative_to(ROOT))
