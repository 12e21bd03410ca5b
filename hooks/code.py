"""Make code quick to lay out: no elements that colour nothing, and only what is near.

What a program prints is no code, so the theme need not give it a button and watch its size.
"""

import functools
import html
import itertools
import re

# Names, punctuation, operators, white space and outputs have the colour of the text around them;
# they are three of four elements.
PLAIN = re.compile(r'<span class="(?:n|p|o|ow|w|go)">([^<]*)</span>')
OUTPUT = re.compile(
    r'(<div class="language-output highlight"><pre>)<span></span><code>(.*?)</code>', re.S
)
LISTING = re.compile(
    r'(<div class="language-(?!output)[^"]+")(.*?)<pre><span></span><code>(.*?)</code></pre>', re.S
)
# The theme's script would add this button and tell whether a listing scrolls. But it asks each one
# for its size, so that a browser lays out all of them at once. It asks a <code> right in a <pre>,
# so a <span> stands between them.
COPY = (
    '<nav class="md-code__nav" role="none"><button class="md-code__button" '
    'title="Copy to clipboard" data-clipboard-target="#listing-{} code" data-md-type="copy">'
    "</button></nav>"
)
FITS = 57  # columns: on a phone, and in one of two columns on a wide screen


def listed(numbers, listing):
    """Return a listing with a copy button and the number of its lines, from which comes its height.

    One that may be too wide can be reached, and so scrolled, by keys.
    """
    start, attributes, code = listing.groups()
    number, lines = next(numbers), html.unescape(re.sub("<.*?>", "", code)).splitlines()
    reached = ' tabindex="0"' if max(map(len, lines), default=0) > FITS else ""
    return (
        f'{start} style="--lines: {len(lines)}"{attributes}<pre id="listing-{number}">'
        f"{COPY.format(number)}<span><code{reached}>{code}</code></span></pre>"
    )


def on_page_content(content, page, config, files):
    """Prepare the code of `page`."""
    content = OUTPUT.sub(r"\1<samp>\2</samp>", PLAIN.sub(r"\1", content))
    return LISTING.sub(functools.partial(listed, itertools.count()), content)
