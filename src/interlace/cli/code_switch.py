"""Generate code-switched text."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.core.errors import DataError
from interlace.core.outputs import is_stream
from interlace.core.progress import no_progress

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from interlace.cli.common.alignment import AlignedText, Source
    from interlace.objectives.common.code_switched_text import CodeSwitchedText
    from interlace.objectives.common.code_switching import CodeSwitching

_MAX_SHAPES = 8  # reported phrase lengths, most frequent first


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

    rules = TableRules(
        max_phrase_length=max_length, unaligned_borders=not tight, min_count=min_count
    )
    switching = _switching(fraction, max_length, from_table=from_table)
    copy_settings = CopySettings(copies=copies, monolingual=monolingual, seed=seed)
    aligned = read_aligned_text(
        files,
        confidence=confidence,
        min_confidence=min_confidence,
        languages=languages,
        word_tokenizer=word_tokenizer,
        reader=reader,
    )
    _check_space(aligned.text, copies, into)
    table = count_phrases(aligned.words, aligned.links, rules)
    switched_text = CodeSwitchedText(table, rules, switching, copy_settings)
    with lines_to(into) as write:
        for lines in _switched_lines(aligned, switched_text, shows_progress=into is not None):
            write(lines)
    summary = switched_text.counts.summary()
    _print_notes(summary, copies)
    print_summary(into, as_json, summary)


def _switching(fraction: str, max_length: int, *, from_table: bool) -> CodeSwitching:
    """Build the settings from the options; errors name options."""
    from interlace.core.errors import SettingsError
    from interlace.objectives.common.code_switching import CodeSwitching

    settings = {
        "switch_fraction": fraction,
        "max_phrase_length": max_length,
        "target_choice": "table_argmax" if from_table else "in_pair",
    }
    try:
        return CodeSwitching.read(settings)
    except SettingsError as error:
        raise SettingsError(str(error).replace("switch_fraction", "--fraction")) from None


def _check_space(text: Source, copies: int, into: Path | None) -> None:
    """Announce the size of the output, and raise a DataError if the disk has less space."""
    if into is None or is_stream(into):
        return
    size = copies * sum(path.stat().st_size for path in text.files)
    folder = next(folder for folder in into.resolve().parents if folder.is_dir())
    free = shutil.disk_usage(folder).free
    if size > free:
        problem = f"about {size / 2**20:,.1f} MB of text, but {free / 2**20:,.1f} MB are free"
        raise DataError(f"{into}: {copies} copies are {problem}; lower --copies")
    log.info("at most about %s MB of text", f"{size / 2**20:,.0f}")


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


def _print_notes(summary: dict[str, Any], copies: int) -> None:
    """Print what was drawn to standard error."""
    pairs = summary["pairs"]
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in summary["kinds"].items())
    print_line(f"{summary['lines']:,} lines of {pairs:,} pairs: {kinds}", notes)
    print_line(f"{summary['switched_words']:.1%} of the words of mixed lines are replaced", notes)
    phrases = Counter(summary["phrases"])
    total = phrases.total()
    lengths = ", ".join(
        f"{count / total:.1%} {lengths}" for lengths, count in phrases.most_common(_MAX_SHAPES)
    )
    print_line(f"phrases by words, replaced-inserted: {lengths or 'none'}", notes)
    distinct = {int(lines): count for lines, count in summary["distinct"].items()}
    fewer = sum(count for lines, count in distinct.items() if lines < copies)
    print_line(
        f"{fewer:,} of {2 * pairs:,} pairs and directions have under {copies} distinct lines, "
        f"{distinct.get(0, 0):,} none",
        notes,
    )
