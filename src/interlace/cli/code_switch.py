"""Generate code-switched text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.core.progress import no_progress

if TYPE_CHECKING:
    from interlace.cli.common.alignment import AlignedText
    from interlace.objectives.common.code_switched_text import CodeSwitchedText


def code_switch(
    files: options.AlignedFiles,
    confidence: options.ConfidenceInput = None,
    min_confidence: options.MinConfidence = 0.0,
    copies: Annotated[
        int,
        typer.Option(
            "--copies", min=1, max=10_000, help="Sentences drawn per pair and direction (ALM)."
        ),
    ] = 20,
    fraction: Annotated[
        str,
        typer.Option(
            "--fraction",
            metavar="SHARE",
            help="Replaced words are less than this share of a sentence; or LOW,HIGH.",
        ),
    ] = "0.3",
    max_length: options.MaxPhraseLength = 4,
    min_count: options.MinCount = 1,
    monolingual: Annotated[
        float,
        typer.Option(
            "--monolingual",
            help="Share of unchanged source lines, and of target lines, below 0.5 (ALM: 0.1).",
        ),
    ] = 0.1,
    from_table: Annotated[
        bool,
        typer.Option(
            "--from-table",
            help="Insert the most probable translation of the table, not the one in the pair.",
        ),
    ] = False,
    tight: options.NoBorderWords = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "auto",
    reader: options.ReaderName = "",
    into: options.OutputFile = None,
    code: Code = [],
    as_json: options.JsonSummary = False,
) -> None:
    """Generate code-switched sentences from word-aligned text: phrases replaced by their translations, as in ALM."""
    load_plugins(code)
    from interlace.alignment.phrase_counts import count_phrases
    from interlace.alignment.phrase_table import TableRules
    from interlace.cli.common.alignment import read_aligned_text
    from interlace.cli.common.output import lines_to, print_summary
    from interlace.objectives.common.code_switched_text import CodeSwitchedText, CopySettings
    from interlace.objectives.common.code_switching import CodeSwitching

    rules = TableRules(
        max_phrase_length=max_length, unaligned_borders=not tight, min_count=min_count
    )
    switching = CodeSwitching.read(
        {
            "switch_fraction": fraction,
            "max_phrase_length": max_length,
            "target_choice": "table_argmax" if from_table else "in_pair",
        }
    )
    copy_settings = CopySettings(copies=copies, monolingual=monolingual, seed=seed)
    aligned = read_aligned_text(
        files,
        confidence=confidence,
        min_confidence=min_confidence,
        languages=languages,
        word_tokenizer=word_tokenizer,
        reader=reader,
    )
    table = count_phrases(aligned.words, aligned.links, rules)
    switched_text = CodeSwitchedText(table, rules, switching, copy_settings)
    with lines_to(into) as write:
        for lines in _switched_lines(aligned, switched_text, shows_progress=into is not None):
            write(lines)
    summary = switched_text.counts.summary()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in summary["kinds"].items())
    print_line(f"{summary['lines']:,} lines of {summary['pairs']:,} pairs: {kinds}", notes)
    print_line(f"{summary['switched_words']:.1%} of the words of mixed lines are replaced", notes)
    print_summary(into, as_json, summary)


def _switched_lines(
    aligned: AlignedText, switched_text: CodeSwitchedText, *, shows_progress: bool
) -> Iterator[Sequence[str]]:
    """Read the text again, for its characters, and draw code-switched lines."""
    from interlace.cli.common.progress import watching

    start = 0
    with watching() if shows_progress else nullcontext(no_progress) as progress:
        for chunk in aligned.text.chunks():
            stop = start + len(chunk)
            yield from switched_text.lines(
                chunk, aligned.words.slice(start, stop), aligned.links.slice(start, stop)
            )
            start = stop
            progress("switching", start, len(aligned.words))
