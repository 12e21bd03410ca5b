"""Fixes: the certain, local changes, made in a file whole or not at all."""

import bisect
import re
import sys

from .reading import parses


def fixed_text(text, findings):
    """Return a text in which each certain, local change is made."""
    joined = [found.start() for found in re.finditer("\r\n", text)]
    joined = [at - number for number, at in enumerate(joined)]  # where the finder sees "\n"
    done, at = [], 0
    for edit in sorted(edit for found in findings for edit in found.edits):
        start, end = (place + bisect.bisect_left(joined, place) for place in edit[:2])
        done += [text[at:start], edit.text]
        at = end
    result = "".join(done) + text[at:]
    return result if parses(result) else text  # rather nothing than something wrong


def fix_file(path, looked, only_show):
    """Write the changes to a file, or print them as a patch; return what is to be said about it."""
    text, encoding = looked.decoded.text, looked.decoded.encoding
    new = fixed_text(text, looked.findings)
    if new == text:
        return ""
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
    lines = difflib.unified_diff(old, new, path, path)
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
