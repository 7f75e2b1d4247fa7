"""Scores and what to conclude from them: statistics, test examples, figures that papers publish."""
