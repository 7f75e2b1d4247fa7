"""Code that several aligners share."""
