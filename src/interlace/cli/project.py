"""Project tags or names of source words to the words of their translations."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options
from interlace.cli.common.options import AlignedTextOptions
from interlace.core.errors import DataError, SettingsError


def project(
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS",
            help="Tags of the source words (names in IOB2), one line per sentence.",
        ),
    ],
    text: AlignedTextOptions,
    missing: Annotated[
        str, typer.Option("--missing", help="Tag of target words without a link.")
    ] = "_",
    into: options.OutputFile = None,
    code: Code = [],
) -> None:
    """Project tags or names of source words to target words: one line of labels per sentence pair."""
    load_plugins(code)
    from interlace.alignment.projection import project as project_labels
    from interlace.cli.common.aligned_text import read_aligned_text
    from interlace.cli.common.output import lines_to
    from interlace.cli.common.parallel_text import with_stdin
    from interlace.text.lines import read_lines

    if missing.split() != [missing]:
        raise SettingsError(f"--missing {missing!r}: expected a tag without blanks")
    (labels,) = with_stdin([labels])
    source_rows = [line.split() for line in read_lines(labels)]
    aligned = read_aligned_text(text)
    words = aligned.words
    lengths = (words.source.lengths, words.target.lengths)
    try:
        target_rows = project_labels(
            source_rows, aligned.links, aligned.confidence, lengths, missing
        )
    except DataError as error:
        hint = ""
        if words.word_tokenizer != "whitespace":
            hint = "; for words between blanks, align with --word-tokenizer whitespace"
        raise DataError(
            f"{labels}: {error} (--word-tokenizer {words.word_tokenizer}){hint}"
        ) from None
    with lines_to(into) as write:
        write(map(" ".join, target_rows))
    if into is not None:
        print_line(into)
