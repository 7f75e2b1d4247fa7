"""Foundations that every other package uses, and the version."""

VERSION = "0.1.0"
