"""Run snippets on TensorFlow 1.15.5: the one file here that Python 3.7 reads.

Each line of input is a JSON list of code and path; each line of output is a JSON list of what
the code printed and, if it failed, the traceback. One process runs them all.
"""

import contextlib
import io
import json
import os
import sys
import traceback

# What TensorFlow itself prints must not come between the answers.
answers = os.fdopen(os.dup(1), "w", 1)
os.dup2(2, 1)

for line in sys.stdin:
    code, path = json.loads(line)
    printed, error = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, path, "exec"), {"__name__": "__main__"})  # noqa: S102
        except Exception:
            error = traceback.format_exc()
    answers.write(json.dumps([printed.getvalue(), error]) + "\n")
