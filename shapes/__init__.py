"""Recipes of this site over the shapes that readers have, and programs drawn at random."""
