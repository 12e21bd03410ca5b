"""The runner of pytest-markdown-docs: run an example, compare it, and try wrong outputs on it."""

import difflib
import os
import random
import re
import warnings
from pathlib import Path

from pytest_markdown_docs._runners import DefaultRunner, register_runner

from checks import relative
from checks.compare import same, wrong_variants
from checks.other_tensorflow import here, one_fifteen
from checks.snippets import Snippet, read, unreadable, write

LEAVES = "It leaves changed"  # so says the worker
AGAIN = 3  # times that a process may end otherwise: what lies in memory not its own decides
PROCESSOR = Path("/proc/cpuinfo")
SEED = os.environ.get("SEED", os.environ.get("GITHUB_SHA", ""))  # CI has one for each commit


def pytest_addoption(parser):
    """Let `--update` write what an example prints into its output fence."""
    parser.addoption("--update", action="store_true", help="write the output fences")


def pytest_report_header():
    """Say how to have the same order again."""
    return SEED and f"the examples of a folder run in the order of SEED={SEED}"


def pytest_collection_modifyitems(config, items):
    """Let the examples of a folder that share a process follow each other; CI shuffles them."""
    SnippetRunner.update = config.option.update
    if config.option.markdowndocs:
        if SEED:
            random.Random(SEED).shuffle(items)  # noqa: S311
        items.sort(key=lambda i: (i.path.parent, not Snippet(i.path.name, i.code, "").alone))


def on_this_processor(snippet):
    """Return an example as it ends here: what crashes by AVX-512 ends well without it."""
    flags = PROCESSOR.read_text("utf-8") if PROCESSOR.exists() else ""  # Linux has that file
    if "AVX-512" not in snippet.code or "avx512f" in flags:
        return snippet
    return snippet._replace(output=re.sub("exit status .*", "exit status 0", snippet.output))


def faults(snippet, name, result):
    """Yield what is wrong with an example, or with its result."""
    if result.error:
        yield f"{name} fails.\n{result.error}"
    elif not same(snippet.output, result.printed):
        lines = snippet.output.splitlines(), result.printed.splitlines()
        diff = difflib.unified_diff(*lines, f"{name} says", "TensorFlow prints", lineterm="")
        yield (
            f"{name} prints something else.\n\n" + "\n".join(diff) + "\n\nIf TensorFlow is "
            f"right, accept it with: python3 noxfile.py -s snippets -- --update {name}"
        )
    else:
        yield from unreadable(snippet, name)
        for variant in wrong_variants(snippet.output):
            if same(variant, result.printed):
                yield f"{name} could say this unnoticed:\n{variant}"


@register_runner(default=True)
class SnippetRunner(DefaultRunner):
    """The runner of every python fence in `snippets/` and in the README."""

    # With the argument asyncio_runner, pytest-markdown-docs would run it again after a TypeError.
    def runtest(self, test, args):
        """Fail unless the fence prints what the output fence under it says, and nothing else."""
        path = Path(test.source_path)
        name, snippet = relative(path), read(path, output=not self.update)
        snippet = on_this_processor(snippet)
        run = one_fifteen() if snippet.old else here()
        batch = "" if self.update or snippet.alone else str(path.parent)
        result = run(snippet.code, name, batch=batch)
        wrong = next(faults(snippet, name, result), "")
        if self.update and not (result.error or same(snippet.output, result.printed)):
            return write(path, result.printed)
        for _ in range(AGAIN if "kills_process" in name else 0):
            wrong = wrong and next(faults(snippet, name, run(snippet.code, name)), "")
        if LEAVES in result.error:
            wrong += "\nAdd the call that does it to SETTING in checks/snippets.py."
        elif wrong and batch:  # a neighbour may be why; its reader has none
            wrong = next(faults(snippet, name, run(snippet.code, name)), "")
            if not wrong:
                warnings.warn(f"{name} is right only in a process of its own", stacklevel=1)
        if wrong:
            raise AssertionError(wrong)

    def repr_failure(self, test, excinfo, style=None):
        """Show what is wrong, and nothing of how it was found."""
        return str(excinfo.value)
