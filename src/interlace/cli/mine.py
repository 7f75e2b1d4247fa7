"""Mine translations in two texts."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import language_names, language_of
from interlace.cli.common.output import lines_to
from interlace.core.bars import watching

if TYPE_CHECKING:
    from interlace.experiments.mining import MinedPairs

log = logging.getLogger(__name__)

DEFAULT_THRESHOLD = 1.02


def mine(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Text, a sentence a line.")],
    target: Annotated[
        Path, typer.Argument(metavar="TGT", help="Text in another language, in any order.")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", help="Model of sentence vectors: a run, a folder, or a hub name."
        ),
    ],
    threshold: Annotated[
        float,
        typer.Option("--threshold", help="Minimum score of pairs; 0: all pairs."),
    ] = DEFAULT_THRESHOLD,
    k: Annotated[
        int,
        typer.Option(
            "--k",
            min=1,
            max=1000,
            help="Neighbors that a pair is compared with, of both lines.",
        ),
    ] = 4,
    strategy: Annotated[
        Literal["forward", "backward", "intersect", "max"],
        typer.Option(
            "--strategy",
            help="Pairs to write: the best one of each line of SRC, or of TGT, those that are both, or all by score, "
            "each line once.",
        ),
    ] = "max",
    languages: Annotated[
        str,
        typer.Option(
            "--languages",
            help="Languages of SRC and TGT, such as en,de. Default: by the suffixes of the files.",
        ),
    ] = "",
    into: options.OutputFile = None,
    code: Code = [],
) -> None:
    """Mine translations: score, source and target, separated by tabs, the best pairs first.

    Rerun the command to resume. Scores are margins (Artetxe & Schwenk 2019): 1 is as near as the neighbors.
    """
    load_plugins(code)
    from interlace.experiments.mining import EncodedLines, distinct_lines
    from interlace.experiments.mining import mine as mine_pairs
    from interlace.experiments.sentence_encoder import SentenceEncoder

    names = language_names(languages, 2) or [language_of(source), language_of(target)]
    encoder = SentenceEncoder(model)
    lines = [distinct_lines(path) for path in (source, target)]
    with watching(notes):
        texts = []
        for path, language, text_lines in zip((source, target), names, lines, strict=True):
            texts.append(EncodedLines.of(str(path), text_lines, language, encoder))
        pairs = mine_pairs(texts[0], texts[1], k, strategy)
    pairs = pairs.where(pairs.scores >= threshold)
    with lines_to(into) as write:
        write(_rows(pairs, *lines))
    log.info(
        "%s pairs of %s and %s different lines",
        f"{len(pairs.scores):,}",
        f"{len(lines[0]):,}",
        f"{len(lines[1]):,}",
    )
    if into is not None:
        print_line(into)


def _rows(
    pairs: MinedPairs, source_lines: Sequence[str], target_lines: Sequence[str]
) -> Iterator[str]:
    columns = zip(pairs.scores, pairs.source, pairs.target, strict=True)
    for score, source, target in columns:
        yield f"{score:.4f}\t{source_lines[source]}\t{target_lines[target]}"
