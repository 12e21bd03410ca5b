"""The optimizers of the ports: Keras 3, Keras 2, version 1 in eager code, and by hand."""

import tensorflow as tf

from trials import common

KERAS_NAMES = {"lr": "learning_rate", "start": "initial_accumulator_value"}
BY_HAND = {"corrected", "epsilon_at", "decay", "decoupled", "skip_decay", "lazy", "late"}
BY_HAND |= {"dampened", "unrated", "v_start"}


class Hand:
    """Optimizers as a porter writes them."""

    def __init__(self, kind, names, lr, **settings):
        """Take what the port asks for; `names` tells the weights by id."""
        self.kind, self.names, self.lr, self.s = kind, names, lr, settings
        self.slots, self.count = {}, tf.Variable(0, dtype=tf.int64, trainable=False)

    def slot(self, variable, name, start=0.0):
        """Return the state `name` of a variable."""
        key = id(variable), name
        if key not in self.slots:
            shape, dtype = variable.shape, tf.as_dtype(variable.dtype)
            with tf.init_scope():
                first = tf.cast(tf.fill(shape, tf.constant(start, tf.float64)), dtype)
                self.slots[key] = tf.Variable(first, trainable=False)
        return self.slots[key]

    def apply_gradients(self, pairs):
        """Update each variable that has a gradient."""
        count = self.count.assign_add(1)
        rate = self.lr(count - 1) if callable(self.lr) else self.lr
        for found, variable in pairs:
            if found is None:
                continue
            gradient = tf.convert_to_tensor(found)
            dtype = gradient.dtype
            decay = self.s.get("decay", 0.0)
            if any(part in self.names[id(variable)] for part in self.s.get("skip_decay", ())):
                decay = 0.0
            value = tf.convert_to_tensor(variable)
            if decay and not self.s.get("decoupled"):
                gradient = gradient + tf.cast(decay, dtype) * value
            change = tf.cast(rate, dtype) * self.direction(gradient, variable, count)
            if decay and self.s.get("decoupled"):
                change += tf.cast(decay * (1 if self.s.get("unrated") else rate), dtype) * value
            lazy = self.s.get("lazy", ())  # rows without a gradient stay, and their averages
            if any(part in self.names[id(variable)] for part in lazy):
                self.keep(gradient, variable, change)
                continue
            variable.assign_sub(change)

    def keep(self, gradient, variable, change):
        """Move only the rows that have a gradient; put back the averages of the others."""
        axes = list(range(1, len(gradient.shape)))
        used = tf.reduce_any(gradient != 0, axes, keepdims=True)
        for key, average in self.slots.items():
            if key[0] == id(variable):
                first = self.s.get("start", 0.0) * tf.ones_like(average)
                average.assign(tf.where(used, average, self.before.get(key, first)))
        variable.assign_sub(tf.where(used, change, tf.zeros_like(change)))

    def direction(self, gradient, variable, count):
        """Return what the rate is multiplied with."""
        if self.s.get("lazy"):
            self.before = {k: tf.identity(v) for k, v in self.slots.items()}
        return getattr(self, self.kind)(gradient, variable, tf.cast(count, gradient.dtype))

    def root(self, square):
        """Take the root, with epsilon where it is asked for."""
        epsilon = tf.cast(self.s.get("epsilon", 1e-8), square.dtype)
        if self.s.get("epsilon_at") == "inside":
            return tf.sqrt(square + epsilon)
        return tf.sqrt(square) + epsilon

    def sgd(self, gradient, variable, count):
        """Plain, with momentum, or Nesterov's."""
        momentum = self.s.get("momentum", 0.0)
        if not momentum:
            return gradient
        average = self.slot(variable, "momentum")
        share = 1 - momentum if self.s.get("dampened") else 1.0
        average.assign(momentum * average + share * gradient)
        return gradient + momentum * average if self.s.get("nesterov") else average

    def adam(self, gradient, variable, count):
        """Adam, with the correction of its averages or without."""
        one, two = self.s.get("beta_1", 0.9), self.s.get("beta_2", 0.999)
        m, v = self.slot(variable, "m"), self.slot(variable, "v", self.s.get("v_start", 0.0))
        m.assign(one * m + (1 - one) * gradient)
        v.assign(two * v + (1 - two) * gradient * gradient)
        how = self.s.get("corrected", "v1")
        if how == "none":
            return m / self.root(v)
        count += 1 if how == "late" else 0
        first = 1 if how == "second" else 1 - tf.pow(tf.cast(one, m.dtype), count)
        second = 1 if how == "first" else 1 - tf.pow(tf.cast(two, m.dtype), count)
        if how == "paper":  # epsilon beside the corrected root
            return m / first / self.root(v / second)
        return m * tf.sqrt(tf.cast(second, m.dtype)) / first / self.root(v)

    def rmsprop(self, gradient, variable, count):
        """RMSProp; the average starts where it is told."""
        rho = self.s.get("rho", 0.9)
        average = self.slot(variable, "rms", self.s.get("start", 0.0))
        average.assign(rho * average + (1 - rho) * gradient * gradient)
        change = gradient / self.root(average)
        momentum = self.s.get("momentum", 0.0)
        if not momentum:
            return change
        kept = self.slot(variable, "momentum")
        kept.assign(momentum * kept + change)
        return kept

    def adagrad(self, gradient, variable, count):
        """Adagrad; the sum starts where it is told."""
        total = self.slot(variable, "sum", self.s.get("start", 0.1))
        total.assign_add(gradient * gradient)
        return gradient / self.root(total)


def version_1(kind, lr, settings):
    """Make an optimizer of version 1 for eager code."""
    train = tf.compat.v1.train
    if kind == "sgd":
        if "momentum" in settings:
            return train.MomentumOptimizer(lr, settings["momentum"])
        return train.GradientDescentOptimizer(lr)
    if kind == "adam":
        one, two = settings.get("beta_1", 0.9), settings.get("beta_2", 0.999)
        return train.AdamOptimizer(lr, one, two, settings.get("epsilon", 1e-8))
    if kind == "rmsprop":
        return train.RMSPropOptimizer(lr, settings.get("rho", 0.9), epsilon=1e-10)
    return train.AdagradOptimizer(lr, settings.get("start", 0.1))


def of_keras(home, kind, lr, settings, variables):
    """Make one of the optimizers in `home`: Keras 3, Keras 2 or its older ones."""
    classes = {"sgd": "SGD", "adam": "Adam", "rmsprop": "RMSprop", "adagrad": "Adagrad"}
    given = {KERAS_NAMES.get(k, k): v for k, v in settings.items()}
    start = given.pop("initial_accumulator_value", 0.0) if kind == "rmsprop" else 0.0
    made = getattr(home, classes[kind])(lr, **given)
    if start:  # version 1 starts at ones
        made.build(variables)
        for average in made._velocities:
            average.assign(tf.fill(average.shape, tf.cast(start, average.dtype)))
    return made


def decaying(lr, schedules):
    """Make a schedule: first, steps, factor; or one with a name before."""
    if lr[0] == "inverse":  # as `decay` of the older optimizers
        return schedules.InverseTimeDecay(lr[1], 1, lr[2])
    if lr[0] == "polynomial":
        return schedules.PolynomialDecay(*lr[1:])
    if lr[0] == "cosine":
        return schedules.CosineDecay(*lr[1:])
    if lr[0] == "piecewise":
        return schedules.PiecewiseConstantDecay(*lr[1:])
    return schedules.ExponentialDecay(*lr)


def counted(base, s):
    """Return the schedule, called with the count that the port has."""
    how = s.get("count")
    if how == "twice":
        return lambda count: base(2 * count)
    if how in ("ahead", "behind"):
        move = 1 if how == "ahead" else -1
        return lambda count: base(tf.maximum(count + move, 0))
    return base


def of_port(kind, named, settings, s):
    """Make the optimizer of a port: what its switches change of the settings, and how it counts."""
    library = s.get("library", "keras")
    settings = {**settings, "lr": s.get("rate", settings.get("lr")), **s.get("opt", {})}
    if library == "hand" and kind == "rmsprop":
        settings.setdefault("epsilon_at", "inside")
    if isinstance(settings["lr"], list) and (library == "hand" or BY_HAND & set(settings)):
        home = common.keras_of("tf_keras").optimizers.schedules
        settings["lr"] = counted(decaying(settings["lr"], home), s)
    return make(kind, named, settings, library)


def make(kind, named, settings, library="keras"):
    """Make the optimizer of a port for the dict `named` of its weights."""
    settings = dict(settings)
    lr, variables = settings.pop("lr"), list(named.values())
    if isinstance(lr, list):  # the rate decays: first, steps, factor
        lr = decaying(lr, common.keras_of(library).optimizers.schedules)
    if library == "v1":
        return version_1(kind, lr, settings)
    if library == "hand" or BY_HAND & set(settings):
        return Hand(kind, {id(v): k for k, v in named.items()}, lr, **settings)
    home = common.keras_of(library).optimizers
    home = home.legacy if library == "legacy" else home
    return of_keras(home, kind, lr, settings, variables)
