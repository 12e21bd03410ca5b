"""Isolated package for a ``doccmd`` temporary file."""
