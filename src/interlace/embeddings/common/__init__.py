"""Code that several embedding methods share."""
