"""Extract a bilingual lexicon."""

from typing import Annotated

import typer

from interlace.alignment.spill import DEFAULT_MEMORY
from interlace.cli import Code, load_plugins
from interlace.cli.common import options


def lexicon(
    files: options.AlignedFiles,
    confidence: options.ConfidenceInput = None,
    min_confidence: options.MinConfidence = 0.0,
    min_count: options.MinCount = 1,
    top: options.Top = 0,
    mutual: Annotated[bool, typer.Option("--mutual", help="Only mutually most frequent translations.")] = False,
    words_only: Annotated[bool, typer.Option("--words", help="Only words that contain a letter.")] = False,
    muse: options.Muse = False,
    memory: options.Memory = DEFAULT_MEMORY,
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
    from interlace.cli.common.alignment import linked
    from interlace.cli.common.output import file_to, print_summary

    _, words, links, _ = linked(files, (confidence, min_confidence), languages, word_tokenizer, reader)
    found = Lexicon.count(words, links, memory)
    found = chosen_entries(found, mutual=mutual, min_count=min_count, top=top, words_only=words_only)
    with file_to(into) as path:
        found.write(path, counts=not muse)
    print_summary(into, as_json, {"pairs": len(words), "links": len(links.flat), "entries": len(found)})
