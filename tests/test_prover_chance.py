"""A program that differs from itself is never called the same; one that rounds otherwise is."""

import numpy as np
import pytest
import tensorflow as tf

from prover.compare import assert_same, compare
from prover.record import record, record_step

X, Y = (np.random.RandomState(k).normal(size=(6, 4 - k)).astype("f4") for k in (1, 3))
START = np.random.RandomState(5).normal(size=(5, 3)).astype("f4")


def five_weights(change=None, kick=0.0, optimizer=None, unused=0):
    """Return step, variables and optimizer of a program with five weights.

    Args:
        change: A function of the first gradient that gives another one.
        kick: By how much the first weight is moved by chance after each step.
        optimizer: The optimizer; gradient descent, if left out.
        unused: How many of the first weights the loss does not depend on.
    """
    weights = [tf.Variable(one, name=f"w{k}") for k, one in enumerate(START)]
    optimizer = optimizer or tf.keras.optimizers.SGD(0.05)

    def step(x, y):
        with tf.GradientTape() as tape:
            made = tf.add_n([tf.tanh(tf.linalg.matvec(x, one)) for one in weights[unused:]])
            loss = tf.reduce_mean((made - y[:, 0]) ** 2)
        gradients = tape.gradient(loss, weights)
        if change:
            gradients[0] = change(gradients[0])
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        if kick:
            weights[0].assign_add(kick * tf.random.normal([3]))
        return loss, gradients

    return step, weights, optimizer


def noisy(size, factor=1.0):
    """Return a function that multiplies a gradient by a factor with noise."""
    return lambda g: g * factor * (1 + size * tf.random.normal([3]))


def nothing_but_rounding(g):
    """Return a gradient that is zero beside the others, but for what a sum leaves over."""
    return 1e-8 * tf.random.normal([3])


def dropped(g):
    """Return a gradient of which some elements are 0."""
    return g * tf.cast(tf.random.uniform([3]) < 0.5, tf.float32)


@pytest.fixture(scope="module")
def kept_record(tmp_path_factory):
    """Record the program with five weights once."""
    path = str(tmp_path_factory.mktemp("chance") / "old.npz")
    record_step(path, *five_weights()[:2], (X, Y))
    return path


@pytest.mark.parametrize("side", ["old program", "new step"])
@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"change": noisy(3e-4)}, id="little"),
        pytest.param({"change": noisy(0.1)}, id="much"),
        pytest.param({"change": noisy(0.02, 1.05)}, id="beside a fault"),
        pytest.param({"change": dropped}, id="dropped"),
        pytest.param({"kick": 1e-3}, id="of the weight"),
        pytest.param({"change": noisy(0.01), "optimizer": tf.keras.optimizers.Adam}, id="Adam"),
    ],
)
def test_noise_in_one_weight_of_five_is_told(given, side, kept_record, tmp_path):
    """Nothing is called the same, and the line names the number that differs from itself."""
    made = {one: value() if one == "optimizer" else value for one, value in given.items()}
    other, path = five_weights(**made), kept_record
    if side == "old program":
        path = str(tmp_path / "old.npz")
        record_step(path, *other[:2], (X, Y), other[2])
        other = five_weights(optimizer=tf.keras.optimizers.get(type(other[2]).__name__))
    report = compare(path, *other)
    assert report.verdict == "not comparable", str(report)
    assert report.notes[0].startswith(f"the {side} differs from itself"), str(report)
    part = "step" if "kick" in given else "gradient"
    assert f"the {part} of w0 in step " in report.notes[0]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("change", [noisy(3e-7), nothing_but_rounding], ids=["sums", "nothing"])
def test_rounding_that_changes_is_no_chance(change, kind, tmp_path):
    """Threads add in any order: what comes of it, also of a sum that is zero, stays allowed."""
    path = str(tmp_path / "old.npz")
    made, unused = getattr(tf.keras.optimizers, kind), int(change is nothing_but_rounding)
    old, new = (five_weights(change, 0, made(0.01), unused) for _ in range(2))
    record_step(path, *old[:2], (X, Y), old[2])
    report = compare(path, *new)
    assert report.verdict == "the same", str(report)
    told = "the gradient of w0 is nothing but rounding" in " ".join(report.notes)
    assert told == (change is nothing_but_rounding), str(report)


# With these the bias, or its gradient, stayed as it was in one form of the step alone.
@pytest.mark.parametrize(("seed", "size"), [(0, 1), (2, 1), (12, 1), (18, 0)])
def test_bias_before_normalization_is_no_difference(seed, size, tmp_path):
    """Its gradient is nothing but rounding, whose steps move a last digit, or none."""
    v1, path, random = tf.compat.v1, str(tmp_path / "old.npz"), np.random.RandomState(seed)
    shapes = (6, 3), (6, 1), (3, 4), 4, 4
    *data, w, b, v = (random.normal(size=shape).astype("f4") for shape in shapes)
    start = w, b * size, v

    def loss_of(x, y, w, b, v):
        made = x @ w + b
        mean, spread = tf.nn.moments(made, [0])
        made = tf.tanh((made - mean) * tf.math.rsqrt(spread + 1e-3))
        return tf.reduce_mean((tf.linalg.matvec(made, v) - y[:, 0]) ** 2)

    with tf.Graph().as_default(), v1.Session() as session:
        fed = [v1.placeholder(tf.float32, one.shape) for one in data]
        made = [v1.get_variable(n, initializer=one) for n, one in zip("wbv", start, strict=True)]
        loss = loss_of(*fed, *made)
        train = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
        session.run(v1.global_variables_initializer())
        record(path, session, loss, dict(zip(fed, data, strict=True)), train)
    weights = [tf.Variable(one, name=n) for n, one in zip("wbv", start, strict=True)]
    optimizer = tf.keras.optimizers.SGD(0.05)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(x, y, *weights)
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss, gradients

    report = compare(path, step, weights, optimizer)
    assert report.verdict == "the same", str(report)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "Adagrad"])
def test_optimizer_that_has_stepped_starts_anew(kind, tmp_path):
    """In the record and in the comparison; afterwards it holds what it held."""
    path = str(tmp_path / "old.npz")
    made = getattr(tf.keras.optimizers, kind)
    more = {"momentum": 0.9} if kind == "SGD" else {}
    old, new, fresh = (five_weights(optimizer=made(0.01, **more)) for _ in range(3))
    for _ in range(3):
        old[0](X, Y)
        new[0](X, Y)
    held = [np.array(one) for one in new[2].variables]
    record_step(path, *old[:2], (X, Y), old[2])
    for one in (new, fresh):
        report = compare(path, *one)
        assert report.verdict == "the same", str(report)
    assert all(map(np.array_equal, held, new[2].variables))


def wrapped_adam(rate):
    """An optimizer of tf.compat.v1.train around another one, beside a loss scale that grows."""
    train = tf.compat.v1.train
    scale = tf.compat.v1.mixed_precision.DynamicLossScale(8.0, 2)
    return train.experimental.MixedPrecisionLossScaleOptimizer(train.AdamOptimizer(rate), scale)


@pytest.mark.parametrize("kind", ["RMSProp", "Adam", "Adagrad", "wrapped"])
def test_optimizer_of_v1_that_has_stepped_starts_anew(kind, tmp_path):
    """It counts no steps: its slots are made anew, and afterwards it holds what it held."""
    path = str(tmp_path / "old.npz")
    made = getattr(tf.compat.v1.train, f"{kind}Optimizer", wrapped_adam)
    new, fresh = (five_weights(optimizer=made(0.01)) for _ in range(2))
    record_step(path, *fresh[:2], (X, Y), fresh[2])
    for _ in range(3):
        new[0](X, Y)
    held = [np.array(one) for one in new[2].variables()]
    report = compare(path, *new)
    assert report.verdict == "the same", str(report)
    record_step(path, *new[:2], (X, Y), new[2])
    assert all(map(np.array_equal, held, new[2].variables()))


def test_optimizer_that_cannot_be_made_again_is_told(kept_record):
    """Its first state is not known: a line says that it goes on from what it holds."""

    class Odd(tf.keras.optimizers.SGD):
        def get_config(self):
            raise NotImplementedError

    new = five_weights(optimizer=Odd(0.05))
    new[0](X, Y)
    report = compare(kept_record, *new)
    assert "Odd has stepped before" in " ".join(report.notes), str(report)


def test_assert_same_keeps_the_new_numbers(kept_record, tmp_path):
    """It takes what `compare` takes."""
    assert_same(kept_record, *five_weights(), save=str(tmp_path / "new.npz"))
    assert (tmp_path / "new.npz").exists()


def test_reason_within_a_function_is_told(kept_record):
    """AutoGraph says it below its own stack."""
    step, *rest = five_weights()

    def eager_step(x, y):
        loss, gradients = step(x, y)
        print(float(loss.numpy()))
        return loss, gradients

    said = " ".join(compare(kept_record, eager_step, *rest).notes)
    assert "in user code" not in said and "has no attribute 'numpy'" in said, said
    assert said.count("AttributeError") == 1


@pytest.mark.parametrize("whole", [True, False])
def test_dropout_of_keras_is_chance(whole, tmp_path):
    """Keras 3 draws from a variable: put back with the weights, it would draw the same twice."""

    def program(rate):
        layers = [tf.keras.layers.Dense(8), tf.keras.layers.Dropout(rate), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential(layers)
        model.build((None, 3))
        counter = tf.Variable(0.0, name="counter")

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            counter.assign_add(1.0)
            return loss, tape.gradient(loss, model.trainable_variables)

        return step, model if whole else model.trainable_variables, counter

    path = str(tmp_path / "old.npz")
    record_step(path, *program(0.0)[:2], (X, Y))
    step, variables, counter = program(0.5)
    report = compare(path, step, variables)
    assert report.verdict == "not comparable", str(report)
    assert "switch dropout and noise off" in " ".join(str(report).split())
    assert counter.numpy() == 0, "what is not passed is put back, too"


def test_recorded_model_draws_on_from_its_own_seed(tmp_path):
    """What a record drew is not missing from the training that goes on after it."""
    model = tf.keras.Sequential([tf.keras.layers.Dropout(0.5, seed=3), tf.keras.layers.Dense(1)])
    model.build((None, 3))

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        return loss, tape.gradient(loss, model.trainable_variables)

    seed = model.layers[0].seed_generator.state
    before = seed.numpy()
    record_step(str(tmp_path / "old.npz"), step, model, (X, Y))
    assert np.array_equal(before, seed.numpy())
    step(X, Y)
    assert not np.array_equal(before, seed.numpy()), "the step draws nothing"


@pytest.mark.parametrize("way", ["record", "record_step"])
def test_optimizer_of_a_session_starts_anew(way, tmp_path):
    """Wherever its slots stand: `minimize` in a variable_scope puts them behind its name."""
    v1, path = tf.compat.v1, str(tmp_path / "old.npz")
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = (v1.placeholder(tf.float32, one.shape) for one in (X, Y))
        weights = [v1.get_variable(f"w{k}", initializer=one) for k, one in enumerate(START)]
        made = tf.add_n([tf.tanh(tf.linalg.matvec(x, one)) for one in weights])
        loss = tf.reduce_mean((made - y[:, 0]) ** 2)
        gradients, optimizer = tf.gradients(loss, weights), v1.train.AdamOptimizer(0.01)
        with v1.variable_scope("train"):
            train = optimizer.apply_gradients(zip(gradients, weights, strict=True))

        def step(*batch):
            return session.run([loss, gradients, train], {x: batch[0], y: batch[1]})[:2]

        session.run(v1.global_variables_initializer())
        for _ in range(9):
            step(X, Y)
        held = session.run(v1.global_variables())
        if way == "record":
            record(path, session, loss, {x: X, y: Y}, train)
        else:
            record_step(path, step, weights, (X, Y), optimizer, session)
        assert all(map(np.array_equal, held, session.run(v1.global_variables())))
    report = compare(path, *five_weights(optimizer=v1.train.AdamOptimizer(0.01)))
    assert report.verdict == "the same", str(report)


def test_generator_draws_by_chance(kept_record):
    """Its state is not put back before it is run again: it would draw the same."""
    generator = tf.random.Generator.from_seed(1)
    state = generator.state.numpy()
    report = compare(kept_record, *five_weights(lambda g: g * generator.uniform([3])))
    assert report.verdict == "not comparable", str(report)
    assert np.array_equal(state, generator.state.numpy())
