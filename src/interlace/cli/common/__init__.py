"""Code shared by the entries of `interlace.cli`."""
