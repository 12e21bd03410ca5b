"""Finish a site that is built: its math font, its search, its archive."""

import html
import re
import shutil
import zipfile
from pathlib import Path

import ziamath
from fontTools import subset
from mkdocs.exceptions import PluginError

FONT = Path(ziamath.__file__).parent / "fonts/STIXTwoMath-Regular.ttf"
ITALIC = {0x210E, *range(0x1D434, 0x1D468)}  # browsers show single letters of a formula as these
# In lunr 2.3.9, a node of its index is known by its letters and the numbers of the nodes that they
# lead to, run together. So 1 → 72 and 5 → 3 are taken for 1 → 7 and 2 → 53, and some first letters
# find nothing at all: https://github.com/olivernn/lunr.js/issues/503
AMBIGUOUS, PLAIN = "e=e+s+o.id}", 'e=e+s+o.id+","}'


def write_math_font(folder):
    """Write the font that style.css names, with the characters of all formulas.

    Without a math font, brackets do not stretch.
    """
    used = set(ITALIC)
    for page in folder.glob("**/*.html"):
        for formula in re.findall("<math.*?</math>", page.read_text("utf-8"), re.S):
            used.update(map(ord, html.unescape(re.sub("<[^>]+>", "", formula))))
    # Its names say its licence. Without hints it is a third smaller.
    options = subset.Options(flavor="woff2", name_IDs=["*"], hinting=False)
    font, cut = subset.load_font(FONT, options), subset.Subsetter(options)
    cut.populate(unicodes=used)
    cut.subset(font)
    subset.save_font(font, folder / "assets/math.woff2", options)


def mend_search(folder):
    """Part the numbers of the nodes in the search's index.

    Raises:
        PluginError: The theme's search is another one.
    """
    [worker] = folder.glob("assets/javascripts/workers/search.*.js")
    script = worker.read_text("utf-8")
    if script.count(AMBIGUOUS) != 1:
        says = "has changed: correct mend_search, or delete it if lunr's fault is mended there"
        raise PluginError(f"The theme's {worker.name} {says}")
    worker.write_text(script.replace(AMBIGUOUS, PLAIN), "utf-8")


def pack(folder):
    """Write a site that works from a folder into a zip file beside it, the same each time."""
    with zipfile.ZipFile(f"{folder}.zip", "w") as packed:
        for file in sorted(filter(Path.is_file, folder.rglob("*")), key=str):
            entry = zipfile.ZipInfo(file.relative_to(folder.parent).as_posix())  # of 1980
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def finish(config, texts):
    """Finish the site, and write `texts` into it by their paths.

    OFFLINE=true packs it into FOLDER.zip, which ARCHIVE=FOLDER.zip offers.
    """
    folder = Path(config.site_dir)
    for path, text in texts.items():
        folder.joinpath(path).parent.mkdir(exist_ok=True)
        folder.joinpath(path).write_text(text, "utf-8")
    write_math_font(folder)
    mend_search(folder)
    if "polyfills" in config.extra:
        pack(folder)
    elif config.extra["archive"]:
        shutil.copy(config.extra["archive"], folder)
