"""Extract a bilingual lexicon."""

from typing import Annotated

import typer

from interlace.cli import Code, load_plugins
from interlace.cli.common import options


def lexicon(
    files: options.AlignedFiles,
    confidence: options.ConfidenceInput = None,
    min_confidence: options.MinConfidence = 0.0,
    min_count: options.MinCount = 1,
    top: options.Top = 0,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Only mutually most frequent translations.")
    ] = False,
    words_only: Annotated[
        bool, typer.Option("--words", help="Only words that contain a letter.")
    ] = False,
    muse: options.Muse = False,
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "auto",
    reader: options.ReaderName = "",
    into: options.OutputFile = None,
    code: Code = [],
    as_json: options.JsonSummary = False,
) -> None:
    """Extract a bilingual lexicon from word-aligned text: source word, target word and count, separated by tabs."""
    load_plugins(code)
    from interlace.alignment.lexicon import Lexicon
    from interlace.api.alignment import chosen_entries
    from interlace.cli.common.alignment import read_aligned_text
    from interlace.cli.common.output import file_to, print_summary

    aligned = read_aligned_text(
        files,
        confidence=confidence,
        min_confidence=min_confidence,
        languages=languages,
        word_tokenizer=word_tokenizer,
        reader=reader,
    )
    entries = Lexicon.count(aligned.words, aligned.links)
    entries = chosen_entries(
        entries, mutual=mutual, min_count=min_count, top=top, words_only=words_only
    )
    with file_to(into) as path:
        entries.write(path, counts=not muse)
    counts = {
        "pairs": len(aligned.words),
        "links": len(aligned.links.flat),
        "entries": len(entries),
    }
    print_summary(into, as_json, counts)
