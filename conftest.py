"""Compare every example with what it prints, from whichever folder pytest is called."""

pytest_plugins = ["checks.runner"]
