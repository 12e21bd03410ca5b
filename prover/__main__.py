"""Prove that a port computes what the TensorFlow 1 program computed, number for number.

    import prove_gradients

    prove_gradients.record("old.npz", session, loss, {x: images, y: labels}, train_op)
    print(prove_gradients.compare("old.npz", step, model, optimizer))

One file, NumPy and the TensorFlow of the program, Python 3.7 and later. A record holds your
weights and your inputs. On the command line it says what a record holds, and compares two.
"""

import sys

from .command import run_prover


def main():
    """Run as a program that was installed."""
    sys.exit(run_prover())


if __name__ == "__main__":
    main()
