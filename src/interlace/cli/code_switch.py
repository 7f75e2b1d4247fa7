"""Generate code-switched text."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.core.errors import DataError
from interlace.core.outputs import is_stream

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from interlace.alignment import WordPairs
    from interlace.cli.common.alignment import Source
    from interlace.core.ragged import Ragged
    from interlace.objectives.common.code_switched_text import CodeSwitchedText
    from interlace.objectives.common.code_switching import CodeSwitching

_MAX_SHAPES = 8  # reported phrase lengths, most frequent first


def code_switch(
    files: options.AlignedFiles,
    confidence: options.ConfidenceInput = None,
    min_confidence: options.MinConfidence = 0.0,
    copies: Annotated[
        int, typer.Option("--copies", min=1, max=10_000, help="Sentences drawn per pair and direction (ALM).")
    ] = 20,
    fraction: Annotated[
        str,
        typer.Option(
            "--fraction", metavar="SHARE", help="Replaced words are less than this share of a sentence; or LOW,HIGH."
        ),
    ] = "0.3",
    max_length: options.MaxPhraseLength = 4,
    min_count: options.MinCount = 1,
    least: Annotated[
        float,
        typer.Option("--min-probability", help="Minimum probability of the inserted phrase given the replaced one."),
    ] = 0.0,
    monolingual: Annotated[
        float,
        typer.Option(
            "--monolingual", help="Share of unchanged source lines, and of target lines, below 0.5 (ALM: 0.1)."
        ),
    ] = 0.1,
    from_table: Annotated[
        bool,
        typer.Option(
            "--from-table", help="Insert the most probable translation of the table, not the one in the pair."
        ),
    ] = False,
    tight: options.NoBorderWords = False,
    repeats: Annotated[bool, typer.Option("--repeats", help="Keep repeated sentences of a pair.")] = False,
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
    from interlace.cli.common.alignment import linked
    from interlace.cli.common.output import lines_to, print_summary
    from interlace.objectives.common.code_switched_text import CodeSwitchedText, CopySettings

    rules = TableRules(max_phrase_length=max_length, unaligned_borders=not tight, min_count=min_count)
    switching = _switching(fraction, max_length, least, from_table=from_table)
    amount = CopySettings(copies=copies, monolingual=monolingual, repeats=repeats, seed=seed)
    text, words, links, _ = linked(files, (confidence, min_confidence), languages, word_tokenizer, reader)
    _check_space(text, copies, into)
    drawn = CodeSwitchedText(count_phrases(words, links, rules), rules, switching, amount)
    with lines_to(into) as write:
        for lines in _lines(text, words, links, drawn, into):
            write(lines)
    summary = drawn.counts.summary()
    _print_notes(summary, copies)
    print_summary(into, as_json, summary)


def _print_notes(summary: dict[str, Any], copies: int) -> None:
    """Print what was drawn to standard error."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in summary["kinds"].items())
    shapes = sorted(summary["phrases"].items(), key=lambda item: -item[1])
    total = sum(summary["phrases"].values())
    lengths = ", ".join(f"{count / total:.1%} {shape}" for shape, count in shapes[:_MAX_SHAPES])
    fewer = sum(count for lines, count in summary["distinct"].items() if int(lines) < copies)
    none = summary["distinct"].get("0", 0)
    for line in (
        f"{summary['lines']:,} lines of {summary['pairs']:,} pairs: {kinds}",
        f"{summary['switched_words']:.1%} of the words of mixed lines are replaced",
        f"phrases by words, replaced-inserted: {lengths or 'none'}",
        f"{fewer:,} of {2 * summary['pairs']:,} pairs and directions have under {copies} distinct lines, {none:,} none",
    ):
        print_line(line, notes)


def _check_space(text: Source, copies: int, into: Path | None) -> None:
    """Announce the size of the output, and raise a DataError if the disk has less space."""
    if into is None or is_stream(into):
        return
    size = copies * sum(path.stat().st_size for path in text.files)
    free = shutil.disk_usage(next(folder for folder in into.resolve().parents if folder.is_dir())).free
    if size > free:
        found = f"about {size / 2**20:,.1f} MB of text, but {free / 2**20:,.1f} MB are free"
        raise DataError(f"{into}: {copies} copies are {found}; lower --copies")
    log.info("at most about %s MB of text", f"{size / 2**20:,.0f}")


def _switching(fraction: str, longest: int, least: float, *, from_table: bool) -> CodeSwitching:
    """Build the settings from the options; errors name options."""
    from interlace.core.errors import SettingsError
    from interlace.objectives.common.code_switching import CodeSwitching

    choice = "table_argmax" if from_table else "in_pair"
    chosen = {
        "switch_fraction": fraction,
        "max_phrase_length": longest,
        "target_choice": choice,
        "min_probability": least,
    }
    try:
        return CodeSwitching.read(chosen)
    except SettingsError as error:
        message = str(error).replace("switch_fraction", "--fraction")
        raise SettingsError(message.replace("min_probability", "--min-probability")) from None


def _lines(
    text: Source, words: WordPairs, links: Ragged, drawn: CodeSwitchedText, into: Path | None
) -> Iterator[Sequence[str]]:
    """Read the text again, for its characters, and draw code-switched lines."""
    from interlace.cli.common.progress import watching

    first = 0
    with watching() if into is not None else nullcontext(None) as watch:
        for chunk in text.chunks():
            last = first + len(chunk)
            yield from drawn.lines(chunk, words.slice(first, last), links.slice(first, last))
            first = last
            if watch is not None:
                watch("switching", first, len(words))
