"""Extract a phrase table."""

from interlace.cli import Code, load_plugins
from interlace.cli.common import options


def phrases(
    files: options.AlignedFiles,
    confidence: options.ConfidenceInput = None,
    min_confidence: options.MinConfidence = 0.0,
    max_length: options.MaxPhraseLength = 4,
    min_count: options.MinCount = 1,
    top: options.Top = 0,
    tight: options.NoBorderWords = False,
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "auto",
    reader: options.ReaderName = "",
    into: options.OutputFile = None,
    code: Code = [],
    as_json: options.JsonSummary = False,
) -> None:
    """Extract phrase pairs from word-aligned text: a Moses phrase table with scores, alignments and counts."""
    load_plugins(code)
    from interlace.alignment.phrase_counts import count_phrases
    from interlace.alignment.phrase_table import TableRules
    from interlace.cli.common.alignment import read_aligned_text
    from interlace.cli.common.output import file_to, print_summary

    rules = TableRules(
        max_phrase_length=max_length, unaligned_borders=not tight, min_count=min_count, top=top
    )
    aligned = read_aligned_text(
        files,
        confidence=confidence,
        min_confidence=min_confidence,
        languages=languages,
        word_tokenizer=word_tokenizer,
        reader=reader,
    )
    table = count_phrases(aligned.words, aligned.links, rules)
    with file_to(into) as path:
        table.write(path)
    counts = {
        "pairs": len(aligned.words),
        "links": len(aligned.links.flat),
        "phrase_pairs": len(table),
        "source_phrases": len(table.source),
        "target_phrases": len(table.target),
    }
    print_summary(into, as_json, counts)
