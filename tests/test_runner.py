"""What makes an example red: what it prints, how it ends, and what it leaves to others."""

from types import SimpleNamespace

import pytest

from checks import runner, snippets
from checks.other_tensorflow import here

STRAYS = {
    "eager execution": "tf.config.run_functions_eagerly(True)",
    "the behaviour of TensorFlow 2": "tf.compat.v1.disable_tensor_equality()",
    "the configuration": "tf.config.optimizer.set_jit(True)",
    "TensorFlow itself": "tf.GradientTape.gradient = print",
    "the seed": "tf.random.set_seed(1)",
    "determinism": "tf.config.experimental.enable_op_determinism()",
    "the default graph": "tf.compat.v1.train.get_or_create_global_step()",
    "the registered gradients": "tf.RegisterGradient('Mine')(print)",
    "the type of Keras": "tf.keras.backend.set_floatx('float64')",
    "logging": "tf.get_logger().setLevel(1)",
    "warnings": "import warnings; warnings.simplefilter('always')",
    "the environment": "import os; os.environ['MINE'] = '1'",
}


@pytest.mark.parametrize(("setting", "code"), STRAYS.items(), ids=list(STRAYS))
def test_example_that_leaves_a_setting_changed_is_noticed(setting, code):
    """And the next one of its folder runs in another process."""
    result = here()(f"import tensorflow as tf\n{code}", "stray.md", batch="strays")
    assert result == ("", f"It leaves changed: {setting}.\n")
    run = here()("import os\nprint(os.environ.get('MINE'))", "next.md", batch="strays")
    assert run == ("None\n", "")


def test_example_leans_on_no_name_of_another():
    """Though they share a process."""
    first, second = (
        here()(f"import os\n{code}\nprint(os.getpid())", "name.md", batch="names")
        for code in ("mine = 1", "assert 'mine' not in globals()")
    )
    assert first == second
    assert not second.error


@pytest.mark.parametrize(
    ("code", "status"),
    {
        "import os\nos._exit(3)": "3",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)": "139: SIGSEGV",
        "import signal, time\nassert signal.alarm(1) > 100\ntime.sleep(60)": "142: SIGALRM",
    }.items(),
)
@pytest.mark.parametrize("batch", ["", "ends"])
def test_example_that_ends_its_process_costs_only_itself(code, status, batch):
    """By itself, by a fault, or because its time is up."""
    assert here()("print(1)", "before.md", batch=batch) == ("1\n", "")
    assert (
        here()(code, "ends.md", batch=batch).error == f"The process ended: exit status {status}\n"
    )
    assert here()("print(2)", "after.md", batch=batch) == ("2\n", "")


RIGHT = "```python\nprint('half:', 0.5)\n```\n\n```output\nhalf: 0.5\n```\n"
WRONG = {
    RIGHT.replace(": 0.5", ": 0.6"): "prints something else",
    RIGHT.replace("'half:', 0.5", "1 / 0"): "ZeroDivisionError",
    RIGHT + RIGHT: "write one plain",
    RIGHT.split("```output", maxsplit=1)[0]: "has no output",
    RIGHT.replace("'half:', 0.5", "1, 2, sep='\\n'").replace("half: 0.5", "1\n2"): "do not say",
    RIGHT.replace("0.5", "0.512345"): "print at most 5 digits",
    RIGHT.replace("0.5", "1e-08"): "is noise",
    RIGHT.replace("half:", "np.half"): "print the values",
    RIGHT.replace("python\n", "python\nimport os\nos.environ.update(A='1')\n"): "SETTING",
}


@pytest.mark.parametrize(("text", "message"), [(RIGHT, ""), *WRONG.items()])
def test_wrong_example_is_red(text, message, tmp_path, monkeypatch):
    """And the message says why."""
    for module in (runner, snippets):
        monkeypatch.setattr(module, "relative", lambda path: path.name)
    monkeypatch.setattr(snippets, "SNIPPETS", tmp_path)
    monkeypatch.setattr(runner.SnippetRunner, "update", False, raising=False)
    path = tmp_path / "example.md"
    path.write_text(text, "utf-8")
    try:
        runner.SnippetRunner().runtest(SimpleNamespace(source_path=path), {})
    except (AssertionError, snippets.MisshapenError) as error:
        assert message and message in str(error)
    else:
        assert not message
