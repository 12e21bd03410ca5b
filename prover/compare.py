"""Run a new training step on what a record holds, and say whether it computes the same."""

from .arrays import np
from .differences import relative_difference
from .forms import NotComparable, Record, first_line, load_record, save_record
from .match import matched_weights
from .passes import gaps, run_pass, run_passes
from .programs import StepProgram, lowest_unit, stops_of
from .record import about_run
from .report import Report
from .verdict import fingerprint, judged

CHOICE = 256  # units in the last place by which a loss may be off, where it decides an order


def compare(path, step, variables, optimizer=None, pairs=None, save=None):
    """Run a new training step on the weights and inputs of a record, and compare.

    Args:
        path: The file that `record` wrote.
        step: A function that takes the inputs in the order of the record, trains once, and
            returns the loss and a list with the gradient of each trained variable.
        variables: A list of variables, or a model that has been called.
        optimizer: The optimizer that the step uses, or a list of them.
        pairs: From the name of an old variable to the new one, or to a list of new ones that
            together hold it, where names, shapes and order do not tell.
        save: A file to write, for `python prove_gradients.py old.npz new.npz`.

    Returns:
        A `Report`: print it, or ask for its `verdict`, `status`, `json()` and `picture(path)`.
    """
    try:
        old = load_record(path)
        program = StepProgram(step, variables, optimizer)
        kept = program.keep()
        try:
            return Comparison(old, program, pairs).report(save)
        finally:
            program.restore(kept)
            program.restore(program.adopted)
    except NotComparable as error:
        return Report("not comparable", [str(error)])


def assert_same(path, step, variables, optimizer=None, pairs=None, save=None):
    """Fail, with the report as the message, unless `compare` says that both are the same."""
    report = compare(path, step, variables, optimizer, pairs, save)
    if report.status:
        raise AssertionError(str(report))


class Comparison:
    """A record, a new program, and which variable is which."""

    def __init__(self, old, program, given):
        """Match the variables, and have the loss decide where several orders could hold."""
        self.old, self.program = old, program
        self.batches = [one.inputs for one in old.steps]
        self.news = program.weights()
        self.rest = program.read()
        self.notes = list(program.notes)
        self.other, kinds, program.kinds = self.traced()
        program.unit = lowest_unit(kinds, [one.dtype for one in self.news if one.trainable])
        self.pairs, choices = matched_weights(old.weights, self.news, self.numbered(given))
        self.check_types()
        if choices:
            self.choose(choices)

    def check_types(self):
        """Note weights of another data type, and refuse those that hold whole numbers."""
        for pair in self.pairs:
            one, other = self.old.weights[pair.old[0]], self.news[pair.new[0]]
            said = f"{other.name} is {other.dtype}, and {one.name} is {one.dtype} in the record"
            if one.trainable and other.dtype.startswith(("int", "uint", "bool")):
                raise NotComparable(f"{said}: give it that type")
            if one.trainable and one.dtype != other.dtype:
                self.notes.append(said)

    def numbered(self, given):
        """Return the reader's pairs, with the number of each variable in its stead."""
        numbers = {id(one): k for k, one in enumerate(self.program.variables)}
        found = {}
        for name, some in (given or {}).items():
            several = some if isinstance(some, (list, tuple)) else [some]
            if any(id(one) not in numbers for one in several):
                raise NotComparable(f"pairs gives for {name} a variable that is not passed")
            found[name] = [numbers[id(one)] for one in several]
        return found

    def traced(self):
        """Return the step's other form, and the types of data and operations in its graph."""
        import tensorflow as tf

        step = self.program.step
        function = step if hasattr(step, "get_concrete_function") else tf.function(step)
        other = step.python_function if function is step else function
        inputs = [tf.convert_to_tensor(one) for one in self.batches[0]]
        kept = self.program.keep()
        try:
            traced = function.get_concrete_function(*inputs).graph
            self.program.adopt(traced.variables)
            graph = traced.as_graph_def()
            self.program.stops = stops_of(graph.node, graph.library.function)
        except NotComparable:
            raise
        except Exception as error:
            if function is step:
                raise NotComparable(f"the step raises {first_line(error)}") from error
            self.notes.append(f"in a tf.function the step raises {first_line(error)}")
            return None, [], []
        finally:
            self.program.restore(kept)
        nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
        numbers = {value.type for node in nodes for value in node.attr.values()}
        kinds = [tf.dtypes.as_dtype(one).name for one in numbers if 0 < one < 24]
        kinds = [one for one in kinds if one != "float32"]  # of a rate, or of a constant
        made = [one for one in nodes if one.op == "IdentityN" and "_gradient_op_type" in one.attr]
        numbers = {value for one in made for value in one.attr["T"].list.type}
        complex_ = numbers & {tf.complex64.as_datatype_enum, tf.complex128.as_datatype_enum}
        by_hand = {"CustomGradient"} if complex_ else set()
        return other, kinds, sorted({one.op for one in nodes} | by_hand)

    def choose(self, choices):
        """Take the one order of weights that gives the loss of the record."""
        old, fitting = self.old, []
        for pairs in choices:
            self.pairs = pairs
            steps = self.run_once(self.batches[:2])
            gap = max(
                relative_difference(new.losses.get(name), loss)
                for new, was in zip(steps, old.steps)
                for name, loss in was.losses.items()
            )
            fitting += [pairs] * (gap < CHOICE * self.program.unit)
        self.pairs = (fitting or choices)[0]
        told = f"told by the loss: {len(fitting)} of {len(choices)} orders give it"
        doubtful = [pair for pair in self.pairs if pair.how.endswith("in doubt")]
        if len(fitting) != 1 and doubtful:
            names = ", ".join(old.weights[pair.old[0]].name for pair in doubtful)
            raise NotComparable(
                f"which of the new variables of the same shape is which cannot be told for {names} "
                f"({len(fitting)} of {len(choices)} orders give the loss of the record): pass "
                "pairs={name: variable}"
            )
        self.pairs = [
            pair._replace(how=told)
            if pair.how.endswith("in doubt") or pair.gates or pair not in choices[0]
            else pair
            for pair in self.pairs
        ]

    def begin(self):
        """Return what each new variable holds at the start."""
        return self.in_new(self.old.start, self.rest)

    def weights_before(self, t, after):
        """Return what each new variable that is trained holds before a step; None leaves it."""
        return self.in_new(self.old.steps[t].before, [None] * len(self.rest))

    def in_new(self, values, rest):
        """Return values of old variables as those of the new ones."""
        found, shapes = list(rest), [one.shape for one in self.news]
        for pair in self.pairs:
            if max(pair.old) < len(values):
                for k, value in pair.to_new(values, shapes):
                    found[k] = value
        return found

    def in_old(self, values, change=False):
        """Return values of new variables as those of the old ones; None where there are none."""
        found, shapes = ([None] * len(self.old.weights), [one.shape for one in self.old.weights])
        values = list(values) + [None] * (len(self.news) - len(values))
        for pair in self.pairs:
            for k, value in pair.to_old(values, shapes, change):
                found[k] = value
        return found

    def run_once(self, batches):
        """Run the new step once on some batches, and return its steps as it has them."""
        return run_pass(self.program, self.begin(), self.weights_before, batches)

    def as_old(self, new, was):
        """Return a step of the new program with the old one's variables."""
        trained = len(self.old.trained)
        rows = [None] * trained
        for pair in self.pairs:
            if len(pair.old) == len(pair.new) == 1 and pair.old[0] < trained:
                rows[pair.old[0]] = (list(new.rows) + [None] * len(self.news))[pair.new[0]]
        after = self.in_old([*new.after, *new.state])
        gradients = self.in_old(new.gradients, change=True)
        names, values = list(was.losses), new.losses
        if len(names) != len(values):
            raise NotComparable(
                f"the step returned {len(values)} losses, and the record has {', '.join(names)}: "
                "return a dictionary of as many, in that order"
            )
        if set(names) != set(values):
            values = dict(zip(names, values.values()))
        return new._replace(
            losses={name: values[name] for name in names},
            gradients=gradients[:trained],
            applied=[None] * trained,
            rows=rows,
            before=was.before,
            after=after[:trained],
            state=after[trained:],
        )

    def noise_as_old(self, name, found):
        """Return the relative differences of new variables as those of the old ones."""
        if name.endswith("loss"):
            return found
        trained, mine = len(self.old.trained), sum(one.trainable for one in self.news)
        state = name.endswith("state")
        size = len(self.old.weights) - trained if state else trained
        made = np.zeros((len(found), size))
        for pair in self.pairs:
            new = [k - mine * state for k in pair.new]
            for k in (k - trained * state for k in pair.old):
                if 0 <= k < size and all(0 <= one < found.shape[1] for one in new):
                    made[:, k] = found[:, new].max(1)
        return made

    def report(self, save):
        """Run the new program, and return the report."""
        program, begin = self.program, self.begin()
        steps, noise = run_passes(program, begin, self.weights_before, self.batches)
        if self.other:
            kept, program.step = program.step, self.other
            try:
                runs = [gaps(self.run_once(self.batches), steps) for _ in range(2)]
                # What differs once alone is chance, and not the other form.
                noise.update(
                    ("other " + name, np.minimum(one, runs[1][name]))
                    for name, one in runs[0].items()
                )
            except Exception as error:
                self.notes.append(f"in its other form the step raises {first_line(error)}")
            program.step = kept
        about = about_run(program, self.old.about["inputs"], self.batches)
        about["frozen"] = [
            k
            for pair in self.pairs
            for k in pair.old
            if self.old.weights[k].trainable and not all(self.news[n].trainable for n in pair.new)
        ]
        about["of"], about["notes"] = fingerprint(self.old), self.notes
        about["matched"] = [
            (
                [self.old.weights[k].name for k in pair.old],
                [self.news[k].name for k in pair.new],
                pair.how,
            )
            for pair in self.pairs
        ]
        about["thawed"] = [
            self.old.weights[k].name
            for pair in self.pairs
            for k in pair.old
            if not self.old.weights[k].trainable and self.news[pair.new[0]].trainable
        ]
        mapped = [self.as_old(new, was) for new, was in zip(steps, self.old.steps)]
        noise = {name: self.noise_as_old(name, one) for name, one in noise.items()}
        new = Record(about, self.old.weights, self.old.start, mapped, noise)
        report = judged(self.old, new, self.loss_with)
        try:
            return save_record(save, new) or report if save else report
        except NotComparable as error:  # what was found is told all the same
            return report._replace(notes=[*report.notes, str(error)])

    def loss_with(self, change):
        """Return the first loss of the new step on other weights or inputs, and put all back.

        Args:
            change: A function of the weights of the record and the inputs that returns others.
        """
        weights, inputs = change(list(self.old.start), list(self.batches[0]))
        kept = self.program.keep()
        self.program.load(self.in_new(weights, self.rest))
        self.program.fresh()
        try:
            return next(iter(self.program.run(inputs).losses.values()))
        except Exception:
            return None  # it cannot be run on these: they explain nothing
        finally:
            self.program.restore(kept)
