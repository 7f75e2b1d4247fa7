"""Code shared by the entries of `interlace.text.word_tokenizers`."""
