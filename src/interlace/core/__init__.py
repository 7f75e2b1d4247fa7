"""Foundations that every other package uses."""
