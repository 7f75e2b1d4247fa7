"""Extract a phrase table."""

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import AlignedTextOptions


def phrases(
    text: AlignedTextOptions,
    max_length: options.MaxPhraseLength = 4,
    min_count: options.MinCount = 1,
    top: options.Top = 0,
    tight: options.NoBorderWords = False,
    into: options.OutputFile = None,
    code: Code = [],
) -> None:
    """Extract phrase pairs from word-aligned text: a Moses phrase table with scores, alignments and counts."""
    load_plugins(code)
    from interlace.alignment.phrase_counts import count_phrases
    from interlace.alignment.phrase_rules import TableRules
    from interlace.cli.common.aligned_text import read_aligned_text
    from interlace.cli.common.output import file_to
    from interlace.core.bars import watching

    rules = TableRules(
        max_phrase_length=max_length, unaligned_borders=not tight, min_count=min_count, top=top
    )
    aligned = read_aligned_text(text)
    with watching(notes):
        table = count_phrases(aligned.words, aligned.links, rules)
    with file_to(into) as path:
        table.write(path)
    if into is not None:
        print_line(into)
