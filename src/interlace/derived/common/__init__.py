"""Shared code of the transformations."""
