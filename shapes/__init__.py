"""Recipes of this site, and the shapes over which they are run."""
