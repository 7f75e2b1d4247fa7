"""Code that several word tokenizers share."""
