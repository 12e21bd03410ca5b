"""Two towers that meet in a product: sampled negatives, Adagrad on slices, a rate by stairs.

What a user does in a context is their circular correlation, which is a product of spectra.
"""

import numpy as np
import tensorflow as tf

from trials import common, optimizers

SIZE, ROWS, SAMPLED = 8, 24, 5
SHAPES = {
    "users/table": (20, SIZE),
    "contexts/table": (6, SIZE),
    "items/table": (30, SIZE),
    "items/popular": (30, 1),
    "user/weights": (SIZE, SIZE),
    "user/biases": (SIZE,),
    "item/weights": (SIZE, SIZE),
    "item/biases": (SIZE,),
    "age/weights": (SIZE, 3),
    "age/biases": (3,),
}
TOWERS = ("user", "item", "age")
TABLES = {"users": 20, "contexts": 6, "items": 30}
ADAGRAD = {"lr": [0.1, 2, 0.9, True], "start": 0.1, "epsilon": 0.0}
L2, AGE = 0.02, 0.5


def data(dtype="float32", half=None):
    """Make weights and five batches: who, where, what, what not, how sure, how old, a flag."""
    random = np.random.RandomState(101)
    batches = []
    for flag in (1, 0, 1, 1, 0):
        users = np.minimum(random.geometric(0.15, ROWS) - 1, 19)
        contexts = np.minimum(random.geometric(0.4, ROWS) - 1, 5)
        liked = np.minimum(random.geometric(0.1, ROWS) - 1, 29)
        negatives = np.minimum(random.geometric(0.2, SAMPLED) - 1, 29)
        ids = [a.astype("int32") for a in (users, contexts, liked, negatives)]
        sure = random.choice([0.5, 1.0, 2.0], ROWS).astype(dtype)
        age = random.randint(0, 3, ROWS).astype("int32")
        batches.append((*ids, sure, age, np.array(flag, dtype)))
    weights = common.draw(SHAPES, 102, dtype)
    for name in TABLES:
        weights[name + "/table"] *= 3
    return {"weights": weights, "batches": batches, "half": half}


def old(v1, data):
    """Build the old program."""
    w = common.declare(v1, data)
    (users, contexts, liked, negatives, sure, age, flag), fed = common.feeds(v1, data)
    who = v1.nn.embedding_lookup(w["users/table"], users)
    where = v1.nn.embedding_lookup(w["contexts/table"], contexts)
    what = v1.nn.embedding_lookup(w["items/table"], v1.concat([liked, negatives], 0))
    spectra = [v1.fft(v1.complex(rows, v1.zeros_like(rows))) for rows in (where, who)]
    joined = v1.real(v1.ifft(v1.conj(spectra[0]) * spectra[1]))
    one = v1.tanh(v1.nn.xw_plus_b(joined, w["user/weights"], w["user/biases"]))
    two = v1.tanh(v1.nn.xw_plus_b(what, w["item/weights"], w["item/biases"]))
    right = v1.reduce_sum(one * two[:ROWS], 1)
    right += v1.nn.embedding_lookup(w["items/popular"], liked)[:, 0]
    wrong = v1.matmul(one, two[ROWS:], transpose_b=True)
    wrong += v1.nn.embedding_lookup(w["items/popular"], negatives)[:, 0]
    losses = v1.nn.softplus(-right) + v1.reduce_sum(v1.nn.softplus(wrong), 1)
    loss = v1.reduce_mean(sure * losses)
    loss += L2 * v1.add_n([v1.nn.l2_loss(rows) for rows in (who, where, what)]) / ROWS
    logits = v1.nn.xw_plus_b(one, w["age/weights"], w["age/biases"])
    losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=age, logits=logits)
    loss += AGE * flag * v1.reduce_mean(losses)
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.1, step, 2, 0.9, staircase=True)
    optimizer = v1.train.AdagradOptimizer(rate, initial_accumulator_value=0.1)
    pairs = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(pairs, global_step=step)
    pairs = [(v1.convert_to_tensor(g), v) for g, v in pairs]
    return {"loss": loss, "inputs": fed, "train_op": train_op, "gradients": pairs}


def of_layers(library):
    """Make the layers of Keras, and which weight is which."""
    home, w = common.keras_of(library).layers, {}
    tables = {k: home.Embedding(n, SIZE) for k, n in TABLES.items()}
    popular = home.Embedding(30, 1)
    dense = {k: home.Dense(3 if k == "age" else SIZE) for k in TOWERS}
    for layer in (popular, *tables.values()):
        layer.build((None,))
    for layer in dense.values():
        layer.build((None, SIZE))
    for name in SHAPES:
        scope, leaf = name.split("/")
        layer = {"table": tables, "popular": {"items": popular}}.get(leaf, dense)[scope]
        w[name] = layer.bias if leaf == "biases" else layer.weights[0]
    return w, {**tables, **dense, "popular": popular}


def look(w, name, ids, s):
    """Look rows up, one way or the other."""
    if s.get("one_hot"):
        table = tf.convert_to_tensor(w[name])
        return tf.one_hot(ids, table.shape[0], dtype=table.dtype) @ table
    return tf.gather(w[name], ids)


def joined_of(where, who, s):
    """Return the circular correlation of the contexts' rows and the users'."""
    hand = common.by_hand(s)
    if s.get("correlate") == "sums":
        turns = [tf.reduce_sum(where * tf.roll(who, -k, 1), 1) for k in range(SIZE)]
        return tf.stack(turns, 1)
    one = hand(tf.signal.fft(tf.complex(where, tf.zeros_like(where))), "where")
    two = hand(tf.signal.fft(tf.complex(who, tf.zeros_like(who))), "who")
    one = one if s.get("correlate") == "convolve" else tf.math.conj(one)
    two = tf.math.conj(two) if s.get("correlate") == "both" else two
    return tf.math.real(tf.signal.ifft(hand(one * two, "product")))


def weigh(losses, sure, s):
    """Reduce the losses of the pairs to one."""
    how = s.get("sample_weights")
    if how == "out":
        sure = tf.ones_like(sure)
    if how == "sum":
        return tf.reduce_sum(sure * losses) / tf.reduce_sum(sure)
    if how == "one":
        sure = tf.concat([sure[:4], sure[4:5] * s["one"], sure[5:]], 0)
    if how == "cut":
        sure = tf.minimum(sure, s["cut"])
    if how == "shifted":
        sure = tf.roll(sure, 1, 0)
    return common.mean(sure * losses, s)


def new(data, fault=None, **s):
    """Make the port."""
    s["fault"] = fault
    s.setdefault("dense", True)
    if s.get("layers"):
        w, layers = of_layers(s["layers"])
    else:
        w, layers = common.variables(data, s), None
    optimizer = optimizers.of_port("adagrad", common.trained(w, s), ADAGRAD, s)

    def dense(w, name, x):
        if layers:
            return layers[name](x)
        return common.matmul(x, w[name + "/weights"], s) + w[name + "/biases"]

    def loss_of(w, batch, s):
        users, contexts, liked, negatives, sure, age, flag = batch
        if layers:
            who, where = layers["users"](users), layers["contexts"](contexts)
            what = [layers["items"](ids) for ids in (liked, negatives)]
        else:
            who, where = (
                look(w, "users/table", users, s),
                look(w, "contexts/table", contexts, s),
            )
            what = [look(w, "items/table", ids, s) for ids in (liked, negatives)]
        who, where = common.point(who, s, "users"), common.point(where, s, "contexts")
        if s.get("halt") == "negatives":
            what[1] = tf.stop_gradient(what[1])
        one = common.point(tf.tanh(dense(w, "user", joined_of(where, who, s))), s, "user")
        two, few = (common.point(tf.tanh(dense(w, "item", rows)), s, "item") for rows in what)
        popular = w["items/popular"]
        if "rows" in s:  # those faults are for slices of the large tables
            popular = 1.0 * tf.convert_to_tensor(popular)
        right = s.get("right_sign", 1.0) * (
            tf.reduce_sum(one * two, 1) + tf.gather(popular, liked)[:, 0]
        )
        wrong = tf.matmul(one, few, transpose_b=True) + tf.gather(popular, negatives)[:, 0]
        losses = tf.reduce_sum(tf.nn.softplus(wrong), 1) * s.get("negative", 1.0)
        losses += tf.nn.softplus(-right)
        rows = [who, where, *(what[:1] if s.get("l2_of") == "no negatives" else what)]
        if s.get("l2_of") == "tables":
            rows = [tf.convert_to_tensor(w[k + "/table"]) for k in TABLES]
        decay = tf.add_n([tf.reduce_sum(common.square(r, s)) for r in rows])
        decay *= s.get("l2", L2) * s.get("l2_half", 0.5) / ROWS
        loss = weigh(losses, sure, s) + decay
        if s.get("head") == "if" and float(flag) == 0:
            return loss
        head = dict(w)
        if s.get("head") == "biases" and float(flag) == 0:
            head["age/biases"] = tf.zeros([3])
        logits = dense(head, "age", common.point(one, s, "to age"))
        ages = common.cross_entropy(logits, age, s)
        ages = AGE * flag * common.mean(ages, {**s, "reduce": None, "targets": None})
        if s.get("part"):
            return decay if s.get("part_of") == "decay" else ages
        return loss + ages

    return common.port(loss_of, w, optimizer, s)
