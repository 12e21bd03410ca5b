"""Measure the faults, and check that correct ports do what the old programs do.

Run `python -m trials.measure` for a report, `--write` to put the sizes into faults.json. In the
lists, `switches` are arguments of a model's `new`, and `data`, where given, of its `data`; `also`
names other causes that would have the same effect. How the weights of a port correspond to the
old ones lies in `step.truth`: it is for this script, and not for what is tried.
"""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

HERE = Path(__file__).parent
LOOSE = {"bfloat16": 0.5, "float16": 0.03, "mixed_bfloat16": 0.5, "mixed_float16": 0.03}


def model(name):
    """Import a model."""
    return importlib.import_module(f"trials.models.{name}")


def run_old(name, options):
    """Run the old program for five steps: loss, gradients, weights, each by step and name."""
    v1 = tf.compat.v1
    home, rows = model(name), []
    data = home.data(**options)
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(0)
        built = home.old(v1, data)
        loss, fed = built["loss"], built["inputs"]
        variables = [v for v in v1.global_variables() if v.op.name in data["weights"]]
        if built.get("gradients") is None:
            sources = [v for v in v1.trainable_variables() if v in variables]
            grads = list(zip(v1.gradients(loss, sources), sources, strict=True))
        else:
            grads = built["gradients"]
        grads = {v.op.name: tf.convert_to_tensor(g) for g, v in grads if g is not None}
        session.run(v1.global_variables_initializer())
        before = session.run({v.op.name: v for v in variables})
        ops = built["train_op"] if isinstance(built["train_op"], list) else [built["train_op"]]
        for i in range(5):
            feed = fed[i] if isinstance(fed, list) else fed
            row = session.run({"loss": loss, "gradient": grads}, feed)
            for op in ops:
                session.run(op, feed)
            after = session.run({v.op.name: v for v in variables})
            row["change"] = {k: after[k] - before[k] for k in after}
            rows.append(row)
            before = after
    return rows


def run_new(name, switches, options):
    """Run a port for five steps from the old weights."""
    home, rows = model(name), []
    tf.random.set_seed(0)
    data = home.data(**options)
    port = home.new(data, **switches)
    truth = port["step"].truth
    w, load, read = (truth.get(k, lambda x: x) for k in ("weights", "load", "read"))
    for k, value in load(data["weights"]).items():
        w[k].assign(value)

    def values():
        return read({k: np.array(tf.convert_to_tensor(v)) for k, v in w.items()})

    trained = [k for k, v in w.items() if v.trainable]
    batches, before = data["batches"], values()
    for i in range(5):
        loss, grads = port["step"](*batches[i % len(batches)])
        loss = (
            {k: np.array(v) for k, v in loss.items()} if isinstance(loss, dict) else np.array(loss)
        )
        assert len(grads) == len(trained), "one gradient for each trained variable"
        found = zip(trained, grads, strict=True)
        grads = {k: np.array(tf.convert_to_tensor(g)) for k, g in found if g is not None}
        if "read" in truth:
            zero = {k: np.zeros(v.shape) for k, v in load(data["weights"]).items()}
            grads, none = read({**zero, **grads}), read(zero)
            grads = {k: g - none[k] for k, g in grads.items()}
        after = values()
        change = {k: after[k] - before[k] for k in after}
        rows.append({"loss": loss, "gradient": grads, "change": change})
        before = after
    return rows


def apart(rows, truth):
    """Return the largest relative distance over everything, and where it is."""
    worst = 0.0, "nothing"
    for i, (row, right) in enumerate(zip(rows, truth, strict=True)):
        for what in right:
            one, two = row[what], right[what]
            if not isinstance(two, dict):
                one, two = {"": one}, {"": two}
            for k in set(one) | set(two):
                a = one.get(k, np.zeros(1))
                b = two.get(k, np.zeros(1))
                distance, norm = np.linalg.norm(a - b), np.linalg.norm(b)
                size = float(distance / norm) if norm else float(distance > 0)
                worst = max(worst, (size, f"{what} {k} {i}"))
    return worst


def main():
    """Measure everything, or the models named."""
    named = [a for a in sys.argv[1:] if not a.startswith("-")]
    faults = json.loads((HERE / "faults.json").read_text())
    ports = json.loads((HERE / "ports.json").read_text())
    kept, noise, right = {}, {}, {}
    for port in (p for p in ports if not named or p["model"] in named):
        name, options = port["model"], port.get("data", {})
        key = name, json.dumps(options)
        try:
            if key not in kept:
                kept[key] = run_old(name, options)
            size, where = apart(run_new(name, port["switches"], options), kept[key])
        except Exception as error:
            print("FAIL", port["name"], type(error).__name__, str(error)[:300])
            continue
        loose = [LOOSE[v] for v in port["switches"].values() if str(v) in LOOSE]
        limit = max(loose, default=2e-4)
        print("ok  " if size < limit else "FAR ", port["name"], f"{size:.2g}", where)
        if not loose and not options:
            noise[name] = max(noise.get(name, 0), size)
    for fault in (f for f in faults if not named or f["model"] in named):
        name, options = fault["model"], fault.get("data", {})
        key = name, json.dumps(options)
        try:
            if key not in right:
                right[key] = run_new(name, {}, options)
            size, where = apart(run_new(name, fault["switches"], options), right[key])
        except Exception as error:
            print("FAIL", fault["name"], type(error).__name__, str(error)[:300])
            continue
        fault["size"] = float(f"{size:.3g}")
        small = size < 20 * noise.get(name, 1e-6)
        print("TINY" if small else "    ", fault["name"], f"{size:.3g}", where)
    if "--write" in sys.argv:
        rows = ",\n".join(json.dumps(f) for f in faults)
        (HERE / "faults.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
