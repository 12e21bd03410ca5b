"""The recipes for a step of an optimizer; the old and the new one return the sources after it."""

from shapes.recipes import EXPLAINED, flat, recipe, watch

RACE = "evidence/known-bugs.md#a-keras-optimizer-in-a-tffunction"
SUM = "how-to/replicas.md#the-gradient-is-twice-as-large-with-two-gpus"
PARTS = "how-to/replicas.md#clip-the-sum-not-each-part"
ROWS = "tape/gradient.md#an-index-that-occurs-twice-trains-differently"
WIPED = "evidence/known-bugs.md#ftrl-wipes-unused-rows"
EXPLAINED.update(
    {
        "clip_and_apply | two replicas: another number": PARTS,
        "global_clipnorm | two replicas: another number": PARTS,
        "two replicas: another number": SUM,
        "ftrl | tf.gather, a row twice: another number": WIPED,
        "adam | tf.gather, a row twice: another number": ROWS,
        "adagrad | tf.gather, a row twice: another number": ROWS,
    }
)
for name in (
    "minimize",
    "clip_and_apply",
    "global_clipnorm",
    "momentum",
    "adam",
    "adagrad",
    "ftrl",
):
    EXPLAINED.update({f"{name} | {one}: another number": RACE for one in ("a list", "a dict")})


def after(tf, step, x):
    """Return the sources as they are after a step of an old optimizer."""
    with tf.control_dependencies([step]):
        return [one.read_value() for one in flat(tf, x)]


def updated(tf, x):
    """Return the sources as they are now; of one with a copy on each processor, their mean."""
    every = [[one] for one in flat(tf, x)]
    if not tf.distribute.has_strategy():
        every = [getattr(one, "values", [one]) for [one] in every]
    return [tf.add_n([tf.convert_to_tensor(v) for v in some]) / len(some) for some in every]


def sgd(tf, x):
    """Return a Keras optimizer of gradient descent."""
    return [tf.keras.optimizers.SGD(0.1)]


def stepped(tf, optimizer, f, x):
    """Return the sources after a recorded step."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(f(x))
    variables = flat(tf, x)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return updated(tf, x)


def minimized(make):
    """Return the old step of an optimizer."""

    def old(tf, f, x):
        loss = tf.reduce_sum(f(x))
        return after(tf, make(tf.train).minimize(loss, var_list=flat(tf, x)), x)

    return old


def old_compute(tf, f, x):
    """Compute the gradients alone."""
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return [g for g, _ in optimizer.compute_gradients(tf.reduce_sum(f(x)), flat(tf, x))]


@recipe("old-api/optimizers.md#every-parameter", old_compute)
def compute_gradients(tf, f, x):
    """Ask the tape."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        loss = tf.reduce_sum(f(x))
    return tape.gradient(loss, x)


def old_grad_loss(tf, f, x):
    """Pass a gradient of the loss."""
    optimizer, y = tf.train.GradientDescentOptimizer(0.1), f(x)
    return [g for g, _ in optimizer.compute_gradients(y, flat(tf, x), grad_loss=y * y)]


@recipe("old-api/optimizers.md#grad_loss-is-output_gradients", old_grad_loss)
def grad_loss(tf, f, x):
    """Pass output_gradients."""
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = f(x)
    return tape.gradient(y, x, output_gradients=y * y)


@recipe(
    "old-api/optimizers.md",
    minimized(lambda train: train.GradientDescentOptimizer(0.1)),
    needs=sgd,
)
def minimize(tf, f, x, optimizer):
    """Record, and apply the gradients."""
    return stepped(tf, optimizer, f, x)


@recipe(
    "old-api/optimizers.md#keep-the-v1-optimizer-and-pass-a-function",
    "minimize",
    needs=lambda tf, x: [tf.compat.v1.train.GradientDescentOptimizer(0.1)],
)
def v1_optimizer_with_function(tf, f, x, optimizer):
    """Pass a function to the old optimizer."""
    optimizer.minimize(lambda: tf.reduce_sum(f(x)), var_list=flat(tf, x))
    return updated(tf, x)


def old_clipped(tf, f, x):
    """Clip by the norm of all, and apply."""
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    slopes, variables = zip(*optimizer.compute_gradients(tf.reduce_sum(f(x)), flat(tf, x)))
    slopes, _ = tf.clip_by_global_norm(slopes, 0.5)
    return after(tf, optimizer.apply_gradients(zip(slopes, variables)), x)


@recipe("how-to/clip-gradients.md", old_clipped, needs=sgd)
def clip_and_apply(tf, f, x, optimizer):
    """Clip by the norm of all, and apply."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(f(x))
    slopes, _ = tf.clip_by_global_norm(tape.gradient(loss, flat(tf, x)), 0.5)
    optimizer.apply_gradients(zip(slopes, flat(tf, x)))
    return updated(tf, x)


@recipe(
    "how-to/clip-gradients.md#clipvalue-clipnorm-and-global_clipnorm",
    "clip_and_apply",
    needs=lambda tf, x: [tf.keras.optimizers.SGD(0.1, global_clipnorm=0.5)],
)
def global_clipnorm(tf, f, x, optimizer):
    """Let the optimizer clip."""
    return stepped(tf, optimizer, f, x)


@recipe(
    "how-to/optimizer-steps.md",
    minimized(lambda train: train.MomentumOptimizer(0.1, 0.9)),
    needs=lambda tf, x: [tf.keras.optimizers.SGD(0.1, momentum=0.9)],
)
def momentum(tf, f, x, optimizer):
    """Pass momentum to SGD."""
    return stepped(tf, optimizer, f, x)


@recipe(
    "how-to/optimizer-steps.md",
    minimized(lambda train: train.AdamOptimizer(0.1)),
    needs=lambda tf, x: [tf.keras.optimizers.Adam(0.1, epsilon=1e-8)],
)
def adam(tf, f, x, optimizer):
    """Take Adam with the old epsilon."""
    return stepped(tf, optimizer, f, x)


@recipe(
    "how-to/optimizer-steps.md",
    minimized(lambda train: train.AdagradOptimizer(0.1)),
    needs=lambda tf, x: [tf.keras.optimizers.Adagrad(0.1, epsilon=0.0)],
)
def adagrad(tf, f, x, optimizer):
    """Take Adagrad."""
    return stepped(tf, optimizer, f, x)


@recipe(
    "how-to/optimizer-steps.md",
    minimized(lambda train: train.FtrlOptimizer(0.1)),
    needs=lambda tf, x: [tf.keras.optimizers.Ftrl(0.1)],
)
def ftrl(tf, f, x, optimizer):
    """Take Ftrl."""
    return stepped(tf, optimizer, f, x)


def old_accumulation(tf, f, x):
    """Apply the mean of the gradients of two micro-batches."""
    optimizer, y = tf.train.GradientDescentOptimizer(0.1), f(x)
    parts = [tf.gradients(loss, flat(tf, x)) for loss in (y, y * y)]
    mean = [(tf.convert_to_tensor(a) + b) / 2 for a, b in zip(*parts)]
    mean = tf.tuple(mean)  # else TF 1 may move a variable that another gradient still reads
    return after(tf, optimizer.apply_gradients(zip(mean, flat(tf, x))), x)


def sums(tf, x):
    """Return a Keras optimizer, and a variable for each sum of gradients."""
    return [*sgd(tf, x), [tf.Variable(tf.zeros_like(v), trainable=False) for v in flat(tf, x)]]


@recipe("how-to/accumulate-gradients.md", old_accumulation, needs=sums)
def accumulate_gradients(tf, f, x, optimizer, total):
    """Add up in variables."""
    for t in total:
        t.assign(tf.zeros_like(t))
    for power in (1, 2):
        with tf.GradientTape() as tape:
            loss = f(x) ** power
        for t, g in zip(total, tape.gradient(loss, flat(tf, x))):
            t.assign_add(g)
    optimizer.apply_gradients([(t / 2, v) for t, v in zip(total, flat(tf, x))])
    return updated(tf, x)
