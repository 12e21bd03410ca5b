# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["nox[uv]"]
# ///
"""Every task of the project; plain `nox` runs what CI runs.

Where nox is not installed, `python3 noxfile.py` fetches it into .nox/ and means the same.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent
LOCKS = ROOT / "requirements"
EXAMPLES = ["snippets", "README.md"]
WIDTH = 60  # of an example: two of them stand side by side, or one on a phone
# What is switched off would look at each of TensorFlow's modules, and at its garbage.
VERIFY = ["pytest", "--markdown-docs", "--assert=plain", "-p", "no:unraisableexception"]
BOTH = ["--numprocesses=auto", "--dist=worksteal"]  # every core of the machine

if not (3, 11) <= sys.version_info < (3, 14):
    sys.exit(
        "The site's tools and TensorFlow 2.21 need Python 3.11, 3.12 or 3.13, and this is Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}. Run one of those, such as `python3.13 "
        "noxfile.py`, or let uv fetch one: `uv run noxfile.py`."
    )

try:
    import nox
except ModuleNotFoundError:
    lock = LOCKS / "nox.txt"
    tools = ROOT / ".nox" / f"nox-{hashlib.sha256(lock.read_bytes()).hexdigest()[:8]}"
    if not tools.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"]
        if subprocess.run([*pip, "--target", tools, "-r", lock], check=False).returncode:
            sys.exit(f"pip could not install {lock.relative_to(ROOT)}; its message is above.")
    sys.path.insert(0, str(tools))
    import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "snippets", "docs", "tests"]


def install(session, *groups):
    """Install the locked packages of `groups` and quieten start-up messages."""
    for group in groups:
        lock = str(LOCKS / f"{group}.txt")  # complete: it leaves nothing to resolve
        session.install("--quiet", "--no-deps", "--require-hashes", "-r", lock)
    session.env["TF_CPP_MIN_LOG_LEVEL"] = "3"
    session.env["NO_MKDOCS_2_WARNING"] = "1"  # CONTRIBUTING.md says what it would


def python37():
    """Return the Python 3.7 of pyenv, or the request by which uv finds or fetches one."""
    # A shim of pyenv answers only for the versions it has been told to use.
    shims = Path(shutil.which("python3.7") or "/bin/python3.7").parent.parent
    return str(next(shims.glob("versions/3.7.*/bin/python3.7"), "3.7"))


def add_tf1(session):
    """Make TensorFlow 1.15.5 in .nox/tf1 and name its Python to the tests, where it can be had."""
    home, uv = ROOT / ".nox/tf1", nox.virtualenv.UV
    for command in (
        [uv, "venv", "--quiet", "--allow-existing", "--python", python37(), home],
        [
            uv,
            "pip",
            "sync",
            "--quiet",
            "--require-hashes",
            "--python",
            home,
            LOCKS / "tf1.txt",
        ],
    ):
        if not nox.virtualenv.HAS_UV or subprocess.run(command, check=False).returncode:
            return session.warn("No TensorFlow 1.15.5: its examples are skipped.")
    session.env["TF1_PYTHON"] = str(next(home.glob("[bS]*/python*")))


@nox.session
def lint(session):
    """Check Python, examples, spelling and workflows; `-- --fix` mends what it can."""
    install(session, "lint")
    fix = "--fix" in session.posargs
    style = ["ruff", "format", *([] if fix else ["--diff"])]
    session.run(*style, "--extend-exclude=*.md", ".")
    # Examples are replayed on Python 3.7. Padded with empty lines by doccmd, so that messages
    # name lines of the Markdown file.
    session.run(*style, f"--line-length={WIDTH}", "--target-version=py37", *EXAMPLES)
    # A001: examples are cells of one notebook, in which a name would hide that of a builtin.
    rules = (
        "--ignore=D,B905,PLW0108 --extend-select=A001 --config=lint.pycodestyle.max-line-length=88"
    )
    check = f"--command=ruff check --quiet --target-version=py37 {rules} {'--fix' * fix}"
    session.run("doccmd", "--language=python", "--continue-on-error", check, *EXAMPLES)
    session.run("ruff", "check", *session.posargs, ".")
    session.run("codespell", *(["-w"] if fix else []))
    session.run("zizmor", "--quiet", "--offline", "--persona=pedantic", ".github", "action.yml")


@nox.session
def snippets(session):
    """Run every example on real TensorFlow; `-- --update` writes the outputs."""
    install(session, "snippets")
    add_tf1(session)
    session.env["TF_ENABLE_ONEDNN_OPTS"] = "1"  # else the processor decides, by its AVX-512
    some = any(Path(arg.split("::")[0]).exists() for arg in session.posargs)
    session.run(*VERIFY, *([] if some else [*EXAMPLES, *BOTH]), *session.posargs)


@nox.session
def docs(session):
    """Build the site and its archive into site/; `-- serve` shows it live while you write."""
    install(session, "docs")
    # As a module, mkdocs finds checks/ beside this file.
    if "serve" in session.posargs:
        session.run("python", "-m", "mkdocs", "serve", "--strict", "--livereload")
        return
    build = ["python", "-m", "mkdocs", "build", "--strict"]
    with tempfile.TemporaryDirectory() as scratch:
        session.env["EXECUTED"] = scratch  # the second build shows what the first one executed
        folder = f"{scratch}/from-tf-gradients-to-gradienttape"
        session.run(*build, "--site-dir", folder, env={"OFFLINE": "true", "SITE_URL": ""})
        session.run(*build, env={"ARCHIVE": f"{folder}.zip"})
    session.log("Built site/. To read it: nox -s docs -- serve, then http://127.0.0.1:8000")


@nox.session
def tests(session):
    """Check the pages' promises, and the built site in a headless browser."""
    install(session, "tests")
    add_tf1(session)
    session.run("pytest", "tests", *BOTH, *session.posargs)


@nox.session(default=False)
def releases(session):
    """Replay every example on each TensorFlow release; `-- 2.4 newest` on these alone."""
    install(session, "snippets")
    session.env.update(UV=nox.virtualenv.UV, PYTHON37=python37())
    session.run("python", "-m", "releases.replay", *session.posargs)


@nox.session(default=False)
def bench(session):
    """Print what gradients cost, in ratios; `-- --update` writes it down."""
    install(session, "snippets")
    add_tf1(session)
    session.run("python", "-m", "bench.jacobian", *session.posargs)
    session.run("python", "-m", "bench.speed", *session.posargs)
    session.run("python", "-m", "bench.memory", *session.posargs)
    session.run("python", "-m", "bench.cases", *session.posargs)


@nox.session(default=False)
def breaks(session):
    """Break what the site says on purpose, and count which breaks the checks notice."""
    install(session, "tests")
    add_tf1(session)
    session.run("python", "-m", "breaks", *session.posargs)


@nox.session(default=False)
def trials(session):
    """Try the prover on ports with faults put in, and on right ones; `-- mlp` on one model."""
    install(session, "tests")
    session.run("python", "-m", "trials", *session.posargs)


@nox.session(default=False)
def differ(session):
    """Draw programs, and print gradients that no page explains; `-- 20000` or `-- 300 --all`."""
    install(session, "tests")
    session.run("python", "-m", "shapes", *session.posargs)


@nox.session(default=False)
def records(session):
    """Record programs on old TensorFlow releases, and compare them here; `-- 2.4` on one alone."""
    install(session, "tests")
    session.env.update(UV=nox.virtualenv.UV, PYTHON37=python37())
    session.run("python", "-m", "trials.releases", *session.posargs)


@nox.session(default=False)
def shapes(session):
    """Run every recipe over the shapes that readers have, on five releases; `-- 2.4` on one."""
    install(session, "tests")
    add_tf1(session)
    session.env.update(UV=nox.virtualenv.UV, PYTHON37=python37())
    session.run("python", "-m", "shapes.cells", *session.posargs)


@nox.session(default=False)
def lock(session):
    """Pin the newest packages that pyproject.toml admits, with hashes, into requirements/."""
    install(session, "nox")
    for group in nox.project.load_toml("pyproject.toml")["dependency-groups"]:
        session.run(
            *["uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--generate-hashes"],
            f"--python-version={'3.7' if group == 'tf1' else '3.11'}",
            *["--no-header", "--no-emit-index-url"],
            *["--no-emit-find-links", f"--group=pyproject.toml:{group}"],
            f"--output-file=requirements/{group}.txt",
        )


@nox.session(default=False)
def newest(session):
    """Run every example on the newest TensorFlow there is, locked or not."""
    install(session, "snippets")
    add_tf1(session)
    session.env["TF_ENABLE_ONEDNN_OPTS"] = "1"  # as in `snippets`
    session.install("--quiet", "--upgrade", "tensorflow")
    session.run(*VERIFY, *EXAMPLES, *BOTH, *session.posargs)


@nox.session(default=False)
def properdocs(session):
    """Build the site with ProperDocs, the way on if Material for MkDocs ends."""
    install(session, "docs")
    session.install("--quiet", "properdocs")
    session.run(
        "python", "-m", "properdocs", "build", "--strict", "--site-dir", session.create_tmp()
    )


if __name__ == "__main__":
    nox.main()
