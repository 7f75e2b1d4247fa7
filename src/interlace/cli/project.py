"""Project tags or names of source words to the words of their translations."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins
from interlace.cli.common import options
from interlace.core.errors import DataError, SettingsError


def project(
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", help="Tags of the source words (names in IOB2), one line per sentence.")
    ],
    files: options.AlignedFiles,
    missing: Annotated[str, typer.Option("--missing", help="Tag of target words without a link.")] = "_",
    confidence: options.ConfidenceInput = None,
    min_confidence: options.MinConfidence = 0.0,
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "auto",
    reader: options.ReaderName = "",
    into: options.OutputFile = None,
    code: Code = [],
    as_json: options.JsonSummary = False,
) -> None:
    """Project tags or names of source words to target words: one line of labels per sentence pair."""
    load_plugins(code)
    from interlace.alignment.projection import project as project_labels
    from interlace.cli.common.alignment import linked, with_stdin
    from interlace.cli.common.output import lines_to, print_summary
    from interlace.text.lines import read_lines

    if missing.split() != [missing]:
        raise SettingsError(f"--missing {missing!r}: expected a tag without blanks")
    (labels,) = with_stdin([labels])
    rows = [line.split() for line in read_lines(labels)]
    _, words, links, sure = linked(files, (confidence, min_confidence), languages, word_tokenizer, reader)
    lengths = words.source.lengths, words.target.lengths
    try:
        found = project_labels(rows, links, sure, lengths, missing)
    except DataError as error:
        other = "; for words between blanks, align with --word-tokenizer whitespace"
        hint = "" if words.word_tokenizer == "whitespace" else other
        raise DataError(f"{labels}: {error} (--word-tokenizer {words.word_tokenizer}){hint}") from None
    with lines_to(into) as write:
        write(map(" ".join, found))
    labelled = sum(label not in {missing, "O"} for row in found for label in row)
    print_summary(into, as_json, {"pairs": len(found), "links": len(links.flat), "labelled": labelled})
