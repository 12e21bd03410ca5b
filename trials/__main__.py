"""Try the prover on ports that are wrong on purpose, and on right ones; write down what it says.

`python -m trials` runs both lists. `python -m trials mlp credit` runs the part of some models, also
of those of later lists, and writes nothing.
"""

import hashlib
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path

import tensorflow as tf

from checks import ROOT
from pages.history import git_says
from prover.compare import compare
from prover.record import record

HERE = ROOT / "trials"
LISTS = {name: HERE / f"{name}.json" for name in ("faults", "ports")}
LATER = sorted(HERE.glob("*_*.json"))  # lists whose outcomes are not kept
OUTCOMES = HERE / "outcomes.json"
TABLE = HERE / "figures.txt"
HEAD = "cause put in", "faults", "found", "named", "another named"


def fingerprint(one):
    """Return what tells whether a fault or port is still the one that was tried."""
    return hashlib.sha256(json.dumps(one, sort_keys=True).encode()).hexdigest()[:12]


def kept():
    """Return the faults and ports of both lists, each with what was `said` when it was tried.

    Raises:
        ValueError: The lists have changed since.
    """
    said = json.loads(OUTCOMES.read_text("utf-8"))
    listed = [one for path in LISTS.values() for one in json.loads(path.read_text("utf-8"))]
    if {fingerprint(one) for one in listed} != set(said):
        raise ValueError("The lists of trials/ have changed: python3 noxfile.py -s trials")
    return [dict(one, said=said[fingerprint(one)]) for one in listed]


def recorded(one, folder):
    """Record the old program of a fault or port, and return its model, the file and the data."""
    module = importlib.import_module(f"trials.models.{one['model']}")
    asked = one.get("data", {})
    path = Path(folder) / f"{one['model']}-{'-'.join(map(str, sorted(asked.items())))}.npz"
    data = module.data(**asked)
    if not path.exists():
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            given = module.old(v1, data)
            session.run(v1.global_variables_initializer())
            record(str(path), session, **given)
    return module, str(path), data


def report_on(one, folder):
    """Return the prover's report on a fault or port of the lists."""
    module, path, data = recorded(one, folder)
    return compare(path, **module.new(data, **one["switches"]))


def outcome_of(one, folder):
    """Return what the prover says of a fault or port: verdict, cause, and in words."""
    report = report_on(one, folder)
    cause = report.cause
    text = cause.text if cause else " ".join(report.notes)
    margin = max((row.apart / row.tolerance for row in report.rows), default=0.0)
    said = {"verdict": report.verdict, "cause": cause and cause.key, "text": text}
    return dict(said, margin=float(f"{margin:.3g}"))


def as_wanted(one):
    """Return whether the prover says of a fault or port what is true of it."""
    if "cause" in one:
        return one["said"]["cause"] in (one["cause"], *one.get("also", ()))
    return one["said"]["verdict"] == "the same"


def figures_of(faults):
    """Return of some faults how many there are, were found, named rightly, and wrongly."""
    named = [one for one in faults if one["said"]["cause"]]
    right = sum(map(as_wanted, named))
    found = sum(one["said"]["verdict"] != "the same" for one in faults)
    return len(faults), found, right, len(named) - right


def table_of(outcomes):
    """Return the figures of both lists as the page shows them."""
    faults = [one for one in outcomes if "cause" in one]
    ports = [one["said"]["verdict"] for one in outcomes if "cause" not in one]
    causes = sorted({one["cause"] for one in faults})
    rows = [(name, [one for one in faults if one["cause"] == name]) for name in causes]
    small = [one for one in faults if one["size"] < 1e-3]
    rows += [("all", faults), ("of these, below 0.001", small)]
    rows = [HEAD, *((name, *figures_of(some)) for name, some in rows)]
    lines = [f"{name:22}{a:>8}{b:>8}{c:>8}{d:>15}" for name, a, b, c, d in rows]
    counts = [ports.count(one) for one in ("the same", "differs", "not comparable")]
    table = "\n".join(lines)
    return (
        f"{table}\n\n"
        f"right ports {len(ports)}: the same {counts[0]}, differs {counts[1]}, "
        f"not comparable {counts[2]}\n"
    )


def main(models):
    """Run the lists, print what is not as it should be, and write all down."""
    outcomes, said = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for path in [*LISTS.values(), *(LATER if models else ())]:
            for one in json.loads(path.read_text("utf-8")):
                if not models or one["model"] in models:
                    begun = time.perf_counter()
                    said[fingerprint(one)] = outcome_of(one, folder)
                    outcomes.append(dict(one, said=said[fingerprint(one)]))
                    if not as_wanted(outcomes[-1]):
                        spent = time.perf_counter() - begun
                        print(f"{one['name']} ({spent:.1f} s): {outcomes[-1]['said']}", flush=True)
    print(table_of(outcomes))
    if not models:
        commit = git_says(ROOT, "rev-parse", "--short=8", "HEAD").strip()
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(said[key])}" for key in sorted(said))
        OUTCOMES.write_text(f"{{\n{rows}\n}}\n", "utf-8")
        TABLE.write_text(f"{table_of(outcomes)}\nmade at commit {commit}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
