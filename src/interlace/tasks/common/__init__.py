"""Code that several tasks share: files and reading, heads, predictions, vectors, likelihood, translation."""
