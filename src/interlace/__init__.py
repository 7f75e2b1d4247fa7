"""interlace: pre-train, align and evaluate cross-lingual language models."""

__version__ = "0.1.0"
