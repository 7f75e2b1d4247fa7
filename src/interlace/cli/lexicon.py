"""Extract a bilingual lexicon."""

from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options
from interlace.cli.common.options import AlignedTextOptions


def lexicon(
    text: AlignedTextOptions,
    min_count: options.MinCount = 1,
    top: options.Top = 0,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Only mutually most frequent translations.")
    ] = False,
    words_only: Annotated[
        bool, typer.Option("--words", help="Only words that contain a letter.")
    ] = False,
    muse: options.Muse = False,
    into: options.OutputFile = None,
    code: Code = [],
) -> None:
    """Extract a bilingual lexicon from word-aligned text: source word, target word and count, separated by tabs."""
    load_plugins(code)
    from interlace.alignment.lexicon import Lexicon
    from interlace.api.alignment import chosen_entries
    from interlace.cli.common.aligned_text import read_aligned_text
    from interlace.cli.common.output import file_to

    aligned = read_aligned_text(text)
    entries = Lexicon.count(aligned.words, aligned.links)
    entries = chosen_entries(
        entries, mutual=mutual, min_count=min_count, top=top, words_only=words_only
    )
    with file_to(into) as path:
        entries.write(path, counts=not muse)
    if into is not None:
        print_line(into)
