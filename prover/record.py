"""Record an old training step."""

import platform

from .arrays import np
from .forms import NotComparable, Record, first_line, save_record
from .passes import first_weights, run_passes
from .programs import GraphProgram, StepProgram


def record(path, session, loss, inputs, train_op, variables=None, gradients=None, steps=5):
    """Record what a TensorFlow 1 program computes: losses, gradients, and training steps.

    The variables are put back afterwards as they were; a pipeline has gone on by as many batches.
    The optimizer starts anew for the record.

    Args:
        path: The file to write, such as "old.npz". It holds your weights and your inputs.
        session: The session, with its variables initialized; a MonitoredSession will do.
        loss: A scalar tensor; or several by name, `{"critic": ..., "generator": ...}`.
        inputs: A feed dictionary, or a list of them, one for each step; or the tensors that come
            out of an input pipeline.
        train_op: The operation that trains; or a list of them, run one after the other.
        variables: What the loss is differentiated by; the trainable variables, if left out.
        gradients: The list of `compute_gradients`, if the program has changed it.
        steps: How many steps to record.

    Returns:
        The `Record`.

    Raises:
        NotComparable: The program cannot be recorded; the message says why.
    """
    program = GraphProgram(session, loss, inputs, train_op, variables, gradients)
    names = [getattr(one, "name", str(one)).split(":")[0] for one in program.places]
    return written(path, program, names, steps)


def record_step(path, step, variables, inputs, optimizer=None, session=None, steps=5):
    """Record a training step that is a Python function: eager code, or a K.function.

    Args:
        path: The file to write.
        step: A function of the inputs. It trains once, and returns the loss, or the loss and a
            list with the gradient of each trained variable.
        variables: A list of variables, or a model.
        inputs: A tuple of arrays, or a list of such tuples, one for each step.
        optimizer: The optimizer that the step uses, or a list of them.
        session: `K.get_session()`, where eager execution is off.
        steps: How many steps to record.

    Returns:
        The `Record`.

    Raises:
        NotComparable: The step cannot be recorded; the message says why.
    """
    program = StepProgram(step, variables, optimizer, session, inputs)
    return written(path, program, None, steps)


def written(path, program, names, steps):
    """Record the steps of a program, write them, and put the program back."""
    if steps < 1:
        raise NotComparable(f"steps is {steps}: record at least one")
    weights, kept = program.weights(), None
    trained = sum(one.trainable for one in weights)
    try:
        kept = program.keep()
        start = program.read()
        batches = program.batches(steps)
        found, noise = run_passes(program, start, first_weights(start, trained), batches)
        program.load(start)
        program.fresh()
        found[0] = found[0]._replace(examples=program.examples(batches[0]))
        probed = losses_of_probes(program, start, probes_of(batches[0]))
    except NotComparable:
        raise
    except Exception as error:
        said = first_line(error)
        unset = "nitialized" in str(error) or "does not exist" in str(error)
        hint = ": run tf.global_variables_initializer() before" if unset else ""
        raise NotComparable(f"the old program raises {said}{hint}") from error
    finally:
        if kept:
            program.restore(kept)
    about = dict(about_run(program, names, batches), probed=probed)
    made = Record(about, weights, start, found, noise)
    save_record(path, made)
    return made


def losses_of_probes(program, start, batches):
    """Return the first loss of each of some batches, by its name; or none."""
    found = {}
    for name, batch in batches.items():
        program.load(start)
        program.fresh()
        try:
            loss = next(iter(program.run(batch).losses.values()))
        except Exception:
            return {}  # the program does not take such a batch: it explains nothing
        found[name] = float(np.mean(np.abs(loss)))
    return found


def probes_of(inputs):
    """Return inputs otherwise, with which a loss tells how it weighs examples.

    As they are; with the examples in other places; without what zeros of a mask hide; with one
    example in the place of each; and with ones for what may be weights.
    """
    size = next((len(one) for one in inputs if np.ndim(one)), 0)

    def taken(places):
        return [one[places] if np.ndim(one) and len(one) == size else one for one in inputs]

    ones = sorted({0, size // 2, max(size - 1, 0)})
    found = {"given": inputs, "moved": taken(np.roll(np.arange(size), 1))}
    found["shown"] = without_hidden(inputs)
    found.update({f"all {k}": taken(np.full(size, k)) for k in ones})
    numbered = {np.shape(one) for one in inputs if one.dtype.kind in "iu"}
    for k, one in enumerate(inputs):
        each = np.ndim(one) and (one.size == len(one) or one.shape in numbered)
        if each and one.dtype.kind == "f" and np.min(one) >= 0 and np.ptp(one):
            same = [np.ones_like(one) if n == k else other for n, other in enumerate(inputs)]
            found[f"ones {k}"] = same
    return found


def without_hidden(inputs):
    """Return inputs with zeros where another one, a mask, is zero."""
    found = list(inputs)
    for mask in inputs:
        if np.ndim(mask) and set(np.unique(mask)) == {0, 1}:
            for k, one in enumerate(found):
                if one is not mask and np.shape(one)[: mask.ndim] == mask.shape:
                    places = mask.reshape(mask.shape + (1,) * (one.ndim - mask.ndim)) == 0
                    found[k] = np.where(places, np.zeros_like(one), one)
    return found


def about_run(program, names, batches):
    """Return what a record says about how it was made."""
    import tensorflow as tf

    return {
        "tensorflow": tf.__version__,
        "python": platform.python_version(),
        "steps": len(batches),
        "inputs": names or [f"input {k}" for k in range(len(batches[0]))],
        "unit": program.unit,
        "kinds": program.kinds,
        "silent": program.silent,
        "changed": program.changed,
        "overridden": program.overridden,
        "through_gradient": program.through_gradient,
        "stops": program.stops,
        "imaginary": program.imaginary,
        "summands": list(program.summands),
    }
