"""Which variable of the new program holds what a variable of the old one held."""

import itertools
import re
from collections import namedtuple

from .arrays import np
from .forms import NotComparable

SYNONYMS = {"w": "kernel", "weight": "kernel", "weights": "kernel", "b": "bias", "biases": "bias"}
SYNONYMS.update(scale="gamma", offset="beta")
GATES = (0, 2, 1, 3)  # input, new input, forget, output of TensorFlow 1, for Keras's order
TRIED = 120  # orders that are tried
DOUBTFUL = "in parts, in doubt"  # in which order the parts stand


class Pair(namedtuple("Pair", "old new how axis turned gates forget dealt")):
    """Old variables, by number, and the new ones that hold the same.

    Attributes:
        old: Numbers in the record; several, if the new variable joins them.
        new: Numbers of the new variables; several, if the old one is split.
        how: In words, how they were matched.
        axis: Along which they are joined or split.
        turned: Whether one is the transpose of the other.
        gates: Whether the four gates of an LSTM stand in Keras's order in the new one.
        forget: Whether the new bias holds the 1 that TensorFlow 1 adds to the forget gate.
        dealt: Whether the parts hold rows in turn, as `embedding_lookup` of TensorFlow 1 does.
    """

    def to_new(self, values, shapes):
        """Return the values of the new variables, from those of all old ones."""
        whole = whole_of([values[k] for k in self.old], self.axis, self.dealt)
        if self.gates:
            whole = in_blocks(whole, GATES)
        if self.forget:
            whole = whole + forget_bias(whole)
        whole = whole.T if self.turned else whole
        parts = parted(whole, [shapes[k] for k in self.new], self.axis, self.dealt)
        return list(zip(self.new, parts))

    def to_old(self, values, shapes, change=False):
        """Return the values of the old variables, from those of all new ones.

        A `change`, such as a gradient, leaves the constant out.
        """
        some = [values[k] for k in self.new]
        if any(one is None for one in some):
            return [(k, None) for k in self.old]
        whole = whole_of(some, self.axis, self.dealt)
        whole = whole.T if self.turned else whole
        if self.forget and not change:
            whole = whole - forget_bias(whole)
        if self.gates:
            whole = in_blocks(whole, np.argsort(GATES))
        parts = parted(whole, [shapes[k] for k in self.old], self.axis, self.dealt)
        return list(zip(self.old, parts))


def in_blocks(values, order):
    """Return values with the four blocks of the last axis in another order."""
    blocks = np.split(values, 4, -1)
    return np.concatenate([blocks[k] for k in order], -1)


def forget_bias(values):
    """Return 1 for the forget gate of a bias in Keras's order, and 0 elsewhere."""
    return np.repeat(np.array([0, 1, 0, 0], values.dtype), values.shape[-1] // 4)


def whole_of(parts, axis, dealt):
    """Return arrays as one, one after the other along an axis, or row by row in turn."""
    if len(parts) == 1:
        return np.asarray(parts[0])  # of any rank
    if not dealt:
        return np.concatenate(parts, axis)
    return np.stack(parts, 1).reshape(-1, *parts[0].shape[1:])


def parted(whole, shapes, axis, dealt):
    """Return an array in parts of some shapes, which follow each other, or get rows in turn."""
    if len(shapes) == 1:
        return [whole]
    if dealt:
        return [whole[k :: len(shapes)] for k in range(len(shapes))]
    return np.split(whole, np.cumsum([shape[axis] for shape in shapes])[:-1], axis)


def pair_of(old, new, how, axis=0, turned=False):
    """Return a `Pair` whose gates stand where they stood."""
    return Pair(tuple(old), tuple(new), how, axis, turned, False, False, False)


def words_of(name):
    """Return the parts of a name, last first, so that scopes in front do not count."""
    parts = re.split(r"[/.:_]", re.sub(r":0$", "", name).lower())
    return [SYNONYMS.get(part, part) for part in reversed(parts)]


def likeness(old, new):
    """Return how many parts two names share, from the last one on."""
    both = zip(words_of(old.name), words_of(new.name))
    shared = [one for one, _ in itertools.takewhile(lambda two: two[0] == two[1], both)]
    return 0 if all(map(str.isdigit, shared)) else len(shared)


def matched_weights(old, new, given=None):
    """Return the pairs that are certain or in order, and the orders in doubt.

    Keras numbers its layers anew, so a list that comes as in the record is an order, too, where
    it says otherwise than the names.

    Args:
        old: A list of `Weight`, of the record.
        new: A list of `Weight`, of the new program.
        given: From the name of an old variable, or a tuple of such names, to the number of the
            new one, or a list of such numbers.

    Returns:
        Pairs; and a list of alternatives, each a list of pairs, one of which holds. Where there
        is nothing to choose it is empty.

    Raises:
        NotComparable: A variable has no counterpart.
    """
    pairs, choices = matched(old, new, given, named=True)
    shapes = [[one.shape for one in some if one.trainable] for some in (old, new)]
    if shapes[0] != shapes[1] or any(pair.how.endswith("in doubt") for pair in pairs):
        return pairs, choices
    listed, _ = matched(old, new, given, named=False)
    if {pair[:2] for pair in listed} == {pair[:2] for pair in pairs}:
        return pairs, choices
    return pairs, [*(choices or [pairs]), *(orders(listed, [], old) or [listed])]


def matched(old, new, given, named):
    """Return what `matched_weights` does, with names that count or do not."""
    pairs = given_pairs(old, new, given or {})
    left, free = open_numbers(old, new, pairs)
    pairs += by_name(old, new, left, free) if named else []
    left, free = open_numbers(old, new, pairs)
    trained = [[k for k in left if old[k].trainable], [k for k in free if new[k].trainable]]
    if [old[k].shape for k in trained[0]] == [new[k].shape for k in trained[1]]:
        in_order = [pair_of([a], [b], "in order") for a, b in zip(*trained)]
        pairs += by_scope(old, new, left, free, pairs + in_order)
        left, free = open_numbers(old, new, pairs)
    doubts = []
    for trained in (True, False):
        ours = [k for k in left if old[k].trainable == trained]
        theirs = [k for k in free if new[k].trainable == trained]
        if [old[k].shape for k in ours] == [new[k].shape for k in theirs]:
            pairs += [pair_of([a], [b], "in order") for a, b in zip(ours, theirs)]
            doubts += groups_of(old, ours, theirs)
    left, free = open_numbers(old, new, pairs)
    shapes = [old[k].shape for k in left], [new[k].shape for k in free]
    for k in left:
        fit = [one for one in free if new[one].shape == old[k].shape]
        if len(fit) == 1 and shapes[0].count(old[k].shape) == 1:
            pairs.append(pair_of([k], fit, "by shape"))
    left, free = open_numbers(old, new, pairs)
    pairs += split_or_joined(old, new, left, free)
    left, free = open_numbers(old, new, pairs)
    for shape, trained in dict.fromkeys((old[k].shape, old[k].trainable) for k in left):
        ours = [k for k in left if (old[k].shape, old[k].trainable) == (shape, trained)]
        theirs = [k for k in free if (new[k].shape, new[k].trainable) == (shape, trained)]
        if len(ours) == len(theirs):
            pairs += [pair_of([a], [b], "in doubt") for a, b in zip(ours, theirs)]
            doubts.append((ours, theirs))
    left, free = open_numbers(old, new, pairs)
    check_complete(old, new, left, free)
    return pairs, orders(pairs, doubts, old)


def open_numbers(old, new, pairs):
    """Return the numbers of old and new variables that are in no pair."""
    used = [{k for pair in pairs for k in side(pair)} for side in (first_side, second_side)]
    return [
        [k for k in range(len(some)) if k not in taken] for some, taken in zip((old, new), used)
    ]


def first_side(pair):
    """Return the old numbers of a pair."""
    return pair.old


def second_side(pair):
    """Return the new numbers of a pair."""
    return pair.new


def given_pairs(old, new, given):
    """Return the pairs that the reader names."""
    numbers, pairs = {one.name: k for k, one in enumerate(old)}, []
    for names, news in given.items():
        olds = names if isinstance(names, tuple) else (names,)
        olds = [re.sub(r":0$", "", name) for name in olds]
        unknown = [name for name in olds if name not in numbers]
        if unknown:
            raise NotComparable(
                "pairs names {}, and the record has {}".format(unknown[0], ", ".join(numbers))
            )
        ours = [numbers[name] for name in olds]
        shapes = [[old[k].shape for k in ours], [new[k].shape for k in news]]
        if shapes[0] == shapes[1]:
            pairs.append(pair_of(ours, news, "given"))
        elif shapes[0] == [shape[::-1] for shape in shapes[1]]:
            pairs.append(pair_of(ours, news, "given, transposed", turned=True))
        else:
            axis = joining_axis(*sorted(shapes, key=len))
            if axis is None:
                raise NotComparable("pairs joins {}, of shapes {} and {}".format(names, *shapes))
            pairs.append(pair_of(ours, news, "given, in parts", axis))
    return pairs


def by_name(old, new, left, free):
    """Return pairs of one shape whose names are more alike than any others."""
    found = []
    for turned in (False, True):
        score = {
            (a, b): likeness(old[a], new[b])
            for a in left
            for b in free
            if (old[a].shape[::-1] if turned else old[a].shape) == new[b].shape
        }
        for (a, b), most in score.items():
            rivals = [v for (c, d), v in score.items() if (c == a) != (d == b)]
            if most and (not rivals or most > max(rivals)):
                how = "by name, transposed" if turned else "by name"
                found.append(pair_of([a], [b], how, turned=turned))
        done = ({k for pair in found for k in pair.old}, {k for pair in found for k in pair.new})
        left, free = ([k for k in s if k not in d] for s, d in zip((left, free), done))
    return found


def by_scope(old, new, left, free, pairs):
    """Return pairs of averages, of the same last name and the scopes of weights that are paired."""
    scopes = {
        old[pair.old[0]].name.rpartition("/")[0]: new[pair.new[0]].name.rpartition("/")[0]
        for pair in pairs
    }
    found = []
    for a, b in itertools.product(left, free):
        one, other = old[a], new[b]
        scope, _, _ = one.name.rpartition("/")
        if (
            not one.trainable
            and one.shape == other.shape
            and scopes.get(scope, "") == other.name.rpartition("/")[0]
            and words_of(one.name)[0] == words_of(other.name)[0]
        ):
            found.append(pair_of([a], [b], "by scope"))
    return found


def split_or_joined(old, new, left, free):
    """Return pairs of one variable, and several neighbours that together have its shape."""
    found = []
    for one_side, one_left, many_side, many_left in (
        (old, left, new, free),
        (new, free, old, left),
    ):
        taken = set()
        for k in one_left:
            for some in parts_to_join(many_side, [n for n in many_left if n not in taken]):
                shapes = [many_side[n].shape for n in some]
                axis = joining_axis([one_side[k].shape], shapes)
                alike = all(many_side[n].trainable == one_side[k].trainable for n in some)
                if axis is not None and alike:
                    taken.update(some)
                    sides = ([k], some) if one_side is old else (some, [k])
                    how = DOUBTFUL if len(set(shapes)) == 1 else "in parts"
                    found.append(pair_of(*sides, how=how, axis=axis))
                    break
    return found


def parts_to_join(weights, numbers):
    """Yield neighbours, and all weights of one shape, that could together be another weight."""
    for first, size in itertools.product(range(len(numbers)), range(2, 9)):
        if first + size <= len(numbers):
            yield numbers[first : first + size]
    alike = {}
    for n in numbers:
        alike.setdefault(weights[n].shape, []).append(n)
    yield from (some for some in alike.values() if len(some) > 1)


def joining_axis(one, many):
    """Return the axis along which arrays of many shapes, joined, have the one shape; or None."""
    if len(one) != 1 or not one[0] or any(len(shape) != len(one[0]) for shape in many):
        return None
    for axis, size in enumerate(one[0]):
        rest = {shape[:axis] + shape[axis + 1 :] for shape in [one[0], *many]}
        if len(rest) == 1 and sum(shape[axis] for shape in many) == size:
            return axis
    return None


def groups_of(old, left, free):
    """Return the numbers in order whose shape, and so whose order, is not their own."""
    groups = {}
    for a, b in zip(left, free):
        groups.setdefault(old[a].shape, ([], []))[0].append(a)
        groups[old[a].shape][1].append(b)
    return [group for group in groups.values() if len(group[0]) > 1]


def orders(pairs, doubts, old):
    """Return every list of pairs that could hold, the most likely first."""
    found = [pairs]
    by_size = {}
    for ours, theirs in doubts:
        by_size.setdefault(len(ours), []).append((ours, theirs))
    for size, groups in by_size.items():  # kernels and biases change places together
        more = itertools.islice(itertools.permutations(range(size)), TRIED)
        found = [reordered(one, groups, order) for order in more for one in found][:TRIED]
    sizes = {max(len(pair.old), len(pair.new)) for pair in pairs if pair.how.endswith("in doubt")}
    for size in sizes - {1}:  # so do the parts of kernels and biases
        more = itertools.islice(itertools.permutations(range(size)), TRIED)
        found = [parts_reordered(one, order) for order in more for one in found][:TRIED]
    if any(pair.how == DOUBTFUL and not pair.axis for pair in pairs):
        found += [
            [pair._replace(dealt=pair.how == DOUBTFUL and not pair.axis) for pair in one]
            for one in found
        ]
    recurrent = [
        k
        for k, pair in enumerate(pairs)
        if re.search("lstm|cell|gate|rnn|recurrent", old[pair.old[0]].name.lower())
        and old[pair.old[0]].shape[-1:]
        and old[pair.old[0]].shape[-1] % 4 == 0
        and max(len(pair.old), len(pair.new)) < 4
    ]
    if recurrent:
        found += [
            [
                pair._replace(gates=gates, forget=forget and len(old[pair.old[0]].shape) == 1)
                if k in recurrent
                else pair
                for k, pair in enumerate(one)
            ]
            for one in found
            for gates, forget in ((True, False), (True, True))
        ]
    return found if len(found) > 1 else []


def reordered(pairs, groups, order):
    """Return pairs in which the new ones of some groups stand in another order."""
    places = {a: theirs[place] for ours, theirs in groups for a, place in zip(ours, order)}
    return [
        pair._replace(new=(places[pair.old[0]],)) if pair.old[0] in places else pair
        for pair in pairs
    ]


def parts_reordered(pairs, order):
    """Return pairs in which equal parts of a weight stand in another order."""
    made = []
    for pair in pairs:
        if pair.how == DOUBTFUL and max(len(pair.old), len(pair.new)) == len(order):
            old, new = (
                tuple(side[k] for k in order) if len(side) > 1 else side
                for side in (pair.old, pair.new)
            )
            pair = pair._replace(old=old, new=new)  # noqa: PLW2901
        made.append(pair)
    return made


def check_complete(old, new, left, free):
    """Raise NotComparable where a trained variable has no counterpart."""
    left = [k for k in left if old[k].trainable]
    free = [k for k in free if new[k].trainable]
    if left or free:
        lists = [
            "{} has {}".format(side, ", ".join(f"{some[k].name} {some[k].shape}" for k in open_))
            for side, some, open_ in (("the record", old, left), ("the new program", new, free))
            if open_
        ]
        raise NotComparable(
            "these weights have no counterpart: {}. Pass pairs={{old name: new variable}}, or the "
            "variables that are meant".format("; ".join(lists))
        )
