"""Make the one file that readers download: the finder with its mapping and the site's address."""

import json
from pathlib import Path

from finder.mapping import joined

HERE = Path(__file__).parent
LOADS = "RULES = _joined()"
ADDRESS = 'BASE = ""'


def bundle(base=""):
    """Return the text of find_gradients.py with the joined mapping inside.

    Raises:
        ValueError: A line that is to be replaced is not there.
    """
    text = (HERE / "find_gradients.py").read_text("utf-8")
    packed = json.dumps(joined(), ensure_ascii=True, separators=(",", ":"))
    before, beside, after = text.partition("def _joined():")
    beside, loads, rest = (beside + after).partition(LOADS)
    if not loads or ADDRESS not in rest or "'''" in packed:
        raise ValueError("finder/find_gradients.py no longer has the lines that bundle() replaces")
    if base:
        rest = rest.replace(ADDRESS, f"BASE = {json.dumps(base.rstrip('/') + '/')}", 1)
    return f"{before.rstrip()}\n\nRULES = json.loads(r'''{packed}'''){rest}"
