"""Files: from a path to its text and findings, and back with what is certain changed."""

import bisect
import re
import sys
from collections import namedtuple

from .choice import path_from_here
from .compat import compat_edits
from .find import findings
from .notebooks import fenced_code
from .reading import parses

SKIPPED = {"__pycache__", "node_modules", "site-packages"}
LIMIT = 32 << 20


class Decoded(namedtuple("Decoded", "text encoding message")):
    """The text of a file's bytes, its encoding, and what is to be said about it."""


class Looked(namedtuple("Looked", "findings message decoded", defaults=(None,))):
    """The findings in a file, what is to be said about it, and its text where it was read."""


def decoded_text(data):
    """Return the text of a file's bytes.

    Raises:
        ValueError: They are no text.
    """
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return Decoded(data.decode("utf-32"), "utf-32", "")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Decoded(data.decode("utf-16"), "utf-16", "")
    halves = [data[:8192][first::2].count(b"\0") for first in (0, 1)]
    if max(halves) > 0.8 * (len(data[:8192]) // 2) and not min(halves):  # text of few alphabets
        encoding = "utf-16-be" if halves[0] else "utf-16-le"
        return Decoded(data.decode(encoding), encoding, "")
    if any(halves):
        raise ValueError("binary, skipped")
    cookie = re.match(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)", data)
    encoding = cookie[1].decode("ascii", "replace") if cookie else "utf-8"
    encoding = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else encoding
    try:
        return Decoded(data.decode(encoding), encoding, "")
    except (UnicodeDecodeError, LookupError):
        return Decoded(data.decode("latin-1"), "latin-1", f"not {encoding}, read as latin-1")


def looked_at(path):
    """Return what is found in a file; `-` is what comes in."""
    import os
    import warnings

    warnings.simplefilter("ignore")  # what the parser thinks of the reader's strings
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        elif os.path.getsize(path) > LIMIT:
            return Looked([], f"larger than {LIMIT >> 20} MB, skipped")
        elif not os.path.isfile(path):
            return Looked([], "not a file, skipped")
        else:
            with open(path, "rb") as file:
                data = file.read()
        decoded = decoded_text(data)
        text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
        text = fenced_code(text) if path.endswith(".md") else text
        notebook = path == "-" and text.lstrip().startswith("{") and '"cell_type"' in text
        found = findings(text, "-.ipynb" if notebook else path)
        found = [one._replace(path=path) for one in found] if notebook else found
    except (OSError, ValueError) as error:
        return Looked([], getattr(error, "strerror", None) or str(error).split("\n")[0][:100])
    except (RecursionError, MemoryError) as error:
        return Looked([], f"too deep to read, skipped ({type(error).__name__})")
    says, ways = [decoded.message], {one.how for one in found}
    if "words" in ways:
        says.append("not Python 3; lines that are no Python were searched for names")
    elif "mended" in ways:
        says.append("not Python 3 (Python 2?), mended to be read")
    return Looked(found, "; ".join(filter(None, says)), decoded)


def code_files(paths, excludes, markdown, unread):
    """Yield the files at and below some paths, each once.

    Args:
        paths: Files and folders.
        excludes: Tells whether a path that stands in a folder is left out.
        markdown: Whether Markdown files in folders count.
        unread: A list, to which what cannot be read is added.
    """
    import os

    def refused(error):
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        unread.append(error.filename)

    ends = (".py", ".ipynb", ".pyw") + (".md",) * markdown
    seen = set()
    for path in dict.fromkeys(paths):
        if not os.path.isdir(path):
            yield path
            continue
        ignored = ignored_by_git(path)
        for folder, inner, names in os.walk(path, onerror=refused, followlinks=True):
            real = os.path.realpath(folder)
            if real in seen:
                inner[:] = []
                continue
            seen.add(real)
            kept = sorted(n for n in (*inner, *names) if not excludes(os.path.join(folder, n)))
            kept = [n for n in kept if os.path.join(real, n) not in ignored]
            below, files = set(inner) - SKIPPED, set(names)
            inner[:] = [n for n in kept if n in below and n[0] != "."]
            yield from (os.path.join(folder, n) for n in kept if n in files and n.endswith(ends))


def ignored_by_git(folder):
    """Return the real paths below a folder that its .gitignore leaves out, where git can tell."""
    import os
    from subprocess import DEVNULL, PIPE, run

    # What a repository sets may start a program of its own: nothing of it runs here.
    command = ["git", "-c", "core.fsmonitor=false", "-C", folder, "ls-files", "-z", "--others"]
    command += ["--ignored", "--exclude-standard", "--directory"]
    try:
        done = run(command, stdout=PIPE, stderr=DEVNULL, check=False)
    except OSError:
        return set()
    names = os.fsdecode(done.stdout).split("\0") if done.returncode == 0 else []
    return {os.path.join(os.path.realpath(folder), name.rstrip("/")) for name in names if name}


def looked_at_each(paths):
    """Yield what is found in each file, in order; many files go to all processors."""
    import os

    if len(paths) < 50 or (os.cpu_count() or 1) < 2:
        yield from map(looked_at, paths)
        return
    import signal
    from concurrent.futures import ProcessPoolExecutor

    quiet = (signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the helpers without a traceback
    with ProcessPoolExecutor(initializer=signal.signal, initargs=quiet) as pool:
        yield from pool.map(looked_at, paths, chunksize=8)


def fixed_text(text, edits):
    """Return a text in which each of the edits is made."""
    joined = [found.start() for found in re.finditer("\r\n", text)]
    joined = [at - number for number, at in enumerate(joined)]  # where the finder sees "\n"
    done, at = [], 0
    for edit in sorted(edits):
        start, end = (place + bisect.bisect_left(joined, place) for place in edit[:2])
        done += [text[at:start], edit.text.replace("\n", "\r\n" if joined else "\n")]
        at = end
    result = "".join(done) + text[at:]
    return result if parses(result) else text  # rather nothing than something wrong


def fix_file(path, looked, only_show, compat=False):
    """Write the changes to a file, or print them as a patch; return what is to be said about it."""
    text, encoding, _ = looked.decoded
    edits, why = [edit for found in looked.findings for edit in found.edits], ""
    if compat and not path.endswith((".ipynb", ".md")):
        try:
            edits += compat_edits(text.replace("\r\n", "\n").replace("\r", "\n"))
        except ValueError as error:
            why = f"not changed by --compat: {error}"
    new = fixed_text(text, edits)
    if new == text:
        return why
    if only_show:
        sys.stdout.write(patch_text(path, text, new))
        return ""
    try:
        return replace_bytes(path, text.encode(encoding), new.encode(encoding))
    except (OSError, UnicodeError) as error:
        return "not changed: " + (getattr(error, "strerror", None) or str(error))


def patch_text(path, old, new):
    """Return a patch; a line ends at its newline and nowhere else."""
    import difflib

    old, new = (re.findall("[^\n]*\n|[^\n]+", text) for text in (old, new))
    lines = difflib.unified_diff(old, new, *[path_from_here(path)] * 2)
    tail = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + tail for line in lines)


def replace_bytes(path, old, new):
    """Write a file whole or not at all, if it holds what was read; return what to say."""
    import os
    import tempfile

    path = os.path.realpath(path)  # a link stays one
    mode = os.stat(path).st_mode
    if not mode & 0o222:
        return "not changed: read-only"
    with open(path, "rb") as file:
        if file.read() != old:
            return "not changed: its bytes would not stay as they are"
    handle, scratch = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
        os.chmod(scratch, mode)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
    return "changed"
