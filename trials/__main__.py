"""Try the prover on ports that are known to be wrong, or right, and write down what it said.

`python -m trials` runs both lists; `python -m trials mlp` one model's part, and writes nothing.
"""

import collections
import importlib
import json
import sys
import tempfile
import time

import tensorflow as tf

from checks import ROOT
from prover.compare import compare
from prover.record import record

HERE = ROOT / "trials"
LISTS = {"faults": HERE / "faults.json", "ports": HERE / "ports.json"}
OUTCOMES = HERE / "outcomes.json"


def recorded(model, switches, folder):
    """Record the old program of a model, and return the file and the data."""
    module = importlib.import_module(f"trials.models.{model}")
    asked = switches.get("data", {})
    path = f"{folder}/{model}-{abs(hash(json.dumps(asked, sort_keys=True)))}.npz"
    data = module.data(**asked)
    if not (HERE / path).exists():
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            given = module.old(v1, data)
            session.run(v1.global_variables_initializer())
            record(path, session, **given)
    return module, path, data


def outcome_of(one, folder):
    """Run one port of a list, and return what the prover said of it."""
    switches = dict(one["switches"])
    module, path, data = recorded(one["model"], switches, folder)
    switches.pop("data", None)
    begun = time.perf_counter()
    report = compare(path, **module.new(data, **switches))
    said = {"verdict": report.verdict, "cause": report.cause and report.cause.key}
    said["text"] = report.cause.text if report.cause else " ".join(report.notes)
    return said, time.perf_counter() - begun


def counts(outcomes):
    """Return the figures of both lists."""
    faults = [one for one in outcomes if one["list"] == "faults"]
    ports = [one for one in outcomes if one["list"] == "ports"]
    right = [one for one in faults if one["said"]["cause"] == one["cause"]]
    named = [one for one in faults if one["said"]["cause"]]
    return {
        "faults": len(faults),
        "found": sum(one["said"]["verdict"] != "the same" for one in faults),
        "right": len(right),
        "wrong": len(named) - len(right),
        "ports": len(ports),
        "the same": sum(one["said"]["verdict"] == "the same" for one in ports),
        "differs": sum(one["said"]["verdict"] == "differs" for one in ports),
    }


def main(models):
    """Run both lists, print what is not as it should be, and write all down."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in LISTS.items():
            for one in json.loads(path.read_text("utf-8")):
                if models and one["model"] not in models:
                    continue
                said, seconds = outcome_of(one, folder)
                outcomes.append({"list": name, **one, "said": said})
                wanted = one.get("cause")
                good = said["cause"] == wanted if wanted else said["verdict"] == "the same"
                mark = "   " if good else "***"
                print(
                    mark,
                    f"{seconds:.1f}s",
                    name,
                    one["model"],
                    one["name"],
                    one.get("size", ""),
                    "|",
                    wanted,
                    "->",
                    said["verdict"],
                    said["cause"],
                    "|",
                    said["text"][:160],
                    flush=True,
                )
                collections.Counter()
    print(counts(outcomes))
    if not models:
        OUTCOMES.write_text(json.dumps(outcomes, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
