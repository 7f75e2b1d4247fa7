"""Align the words of parallel text."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.aligners import (
    ALIGNER_FILE,
    ALIGNERS,
    CONTENTS,
    DEFAULT_ALIGNER,
    Aligner,
    Alignments,
    FittedAligner,
    load_aligner,
)
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.cli import Code, completion, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import TextOptions, nested_changes
from interlace.cli.common.output import bar_beside, lines_to
from interlace.cli.common.parallel_text import (
    ParallelFiles,
    has_record,
    numbered,
    record_of,
    record_path,
)
from interlace.core.bars import watching
from interlace.core.errors import SettingsError
from interlace.core.files import must_be_replaceable, must_exist
from interlace.core.json_files import JsonObject, write_json
from interlace.core.outputs import is_standard_output, is_stream
from interlace.readers.common.tokenization import AUTO

if TYPE_CHECKING:
    from interlace.alignment import WordPairs

log = logging.getLogger(__name__)


def align(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SRC",
            help="Source text, `-` for standard input; without TGT, lines `source ||| target`.",
        ),
    ],
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="TGT",
            help="Target text, line by line a translation of SRC; or `-`.",
            show_default=False,
        ),
    ] = None,
    *,
    text: TextOptions,
    name: Annotated[
        str,
        typer.Option(
            "--aligner",
            help="Aligner: see `interlace list aligners`. Default: gibbs.",
            autocompletion=completion("aligners"),
            metavar="NAME",
        ),
    ] = "",
    changes: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="A setting of the aligner, such as seed=1 (repeatable).",
            metavar="KEY=VALUE",
        ),
    ] = [],
    extra: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--extra",
            help="More parallel text to train on, two files; its alignments are not written.",
            metavar="SRC TGT",
        ),
    ] = None,
    priors: Annotated[
        Path | None,
        typer.Option(
            "--priors",
            help="Prior dictionary: source, tab, target, optionally a tab and a count.",
        ),
    ] = None,
    load_model: Annotated[
        Path | None,
        typer.Option("--load-model", help="Align with this saved model, without training."),
    ] = None,
    save_model: Annotated[
        Path | None,
        options.output(
            "Save the trained aligner in this folder.", option="--save-model", kind="folder"
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", help="Gold alignments: prints precision, recall, F1 and AER."),
    ] = None,
    confidence_into: Annotated[
        Path | None,
        options.output(
            "Output file for the confidence of each link, one line per pair.",
            option="--confidence",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        options.output(
            options.OUTPUT_FILE,
            default_is_standard=True,
            is_earlier=has_record,
            beside=record_of,
        ),
    ] = None,
    code: Code = [],
) -> None:
    """Align the words of parallel text: one line such as `0-0 1-2` per sentence pair, words counted from 0."""
    load_plugins(code)
    gold_path = None if gold is None else must_exist(gold, "gold alignment file")
    dictionary = None if priors is None else must_exist(priors, "dictionary")
    saved = None
    if load_model is None:
        aligner = _aligner(name or DEFAULT_ALIGNER, changes, save_model)
    else:
        training_options = {
            "--aligner": name,
            "--set": changes,
            "--priors": priors,
            "--save-model": save_model,
            "--extra": extra,
        }
        saved = _saved_aligner(load_model, training_options)
        aligner = saved.aligner
        if text.word_tokenizer == AUTO and saved.trained_on:
            text = replace(text, word_tokenizer=saved.trained_on.word_tokenizer)
    files = ParallelFiles.of([source] if target is None else [source, target], text)
    with watching(notes) as progress:
        words, rows = numbered(
            [files] if extra is None else [files, files.like(extra)], progress
        )
        pairs = words.slice(0, rows)
        scoring = None if gold_path is None else _Scoring(gold_path, pairs, files)
        if saved is None:
            fitted = aligner.fit(words, _prior(dictionary), progress)
            align_chunk = fitted.align_training_pairs
            if save_model is not None:
                fitted.save(save_model, words)
        else:
            align_chunk = saved.align
            _warn_of_other_text(saved, words)
    _write(pairs, align_chunk, into, confidence_into, scoring)
    if scoring is not None:
        scoring.print()
    if into is not None and not is_stream(into):
        record = {
            "aligner": aligner.name,
            "settings": aligner.dump(),
            "pairs": rows,
            "languages": files.languages,
            "word_tokenizer": files.word_tokenizer,
        }
        write_json(record_path(into), record)
    # a path is no part of confidences on standard output
    if into is not None and not (confidence_into and is_standard_output(confidence_into)):
        print_line(into)


def _saved_aligner(folder: Path, training_options: JsonObject) -> FittedAligner:
    """Load an aligner; reject options for training."""
    useless = [option for option, value in training_options.items() if value]
    if useless:
        raise SettingsError(
            f"--load-model: the saved model fixes these settings, so leave out {', '.join(useless)}"
        )
    return load_aligner(folder)


def _warn_of_other_text(saved: FittedAligner, words: WordPairs) -> None:
    mismatch = saved.trained_on.mismatch(words) if saved.trained_on else ""
    if mismatch:
        log.warning("--load-model: %s; alignments may be poor", mismatch)


def _write(
    pairs: WordPairs,
    align_chunk: Callable[[WordPairs], Alignments],
    into: Path | None,
    confidence_into: Path | None,
    scoring: _Scoring | None,
) -> None:
    """Align the pairs in chunks, and write links (without a path to standard output) and confidences."""
    confidence_lines_to = (
        nullcontext() if confidence_into is None else lines_to(confidence_into)
    )
    with (
        bar_beside(into) as progress,
        lines_to(into) as write,
        confidence_lines_to as write_confidences,
    ):
        for chunk in pairs.chunks():
            alignments = align_chunk(chunk)
            write(pharaoh_lines(alignments.links))
            if write_confidences is not None:
                write_confidences(_confidence_lines(alignments))
            if scoring is not None:
                scoring.add(chunk, alignments)
            progress("linking", chunk.first + len(chunk), len(pairs))


def _prior(dictionary: Path | None) -> Any:
    """Return the lexicon of a prior dictionary, if there is one."""
    if dictionary is None:
        return None
    from interlace.alignment.lexicon import Lexicon

    return Lexicon.read(dictionary)


def _aligner(name: str, changes: list[str], save_folder: Path | None) -> Aligner:
    """Build an aligner from the options."""
    settings = nested_changes(changes, "key=value, such as seed=1")
    aligner: Aligner = ALIGNERS.get(name).read(settings, f"--aligner {name}")
    if save_folder is not None:
        if not aligner.can_save:
            raise SettingsError(f"--save-model: the aligner {name!r} has no model to save")
        must_be_replaceable(save_folder, ALIGNER_FILE, "aligner", CONTENTS)
    return aligner


def _confidence_lines(alignments: Alignments) -> Iterator[str]:
    texts = [f"{confidence:.4g}" for confidence in alignments.confidence.tolist()]
    offsets = alignments.links.offsets - alignments.links.offsets[0]  # (pairs + 1,)
    for start, stop in pairwise(offsets.tolist()):
        yield " ".join(texts[start:stop])


class _Scoring:
    """Agreement with the gold alignments of a file."""

    def __init__(self, file: Path, pairs: WordPairs, text: ParallelFiles) -> None:
        from interlace.alignment.agreement import Agreement
        from interlace.alignment.formats import read_alignments

        lengths = (pairs.source.lengths, pairs.target.lengths)
        self.file = file
        self.gold = read_alignments(file, lengths, text.numbers)
        self.agreement = Agreement()

    def add(self, pairs: WordPairs, alignments: Alignments) -> None:
        """Score the alignments of a chunk of the pairs."""
        from interlace.alignment.agreement import agreement

        start = pairs.first
        stop = pairs.first + len(pairs)
        sure = self.gold.sure.slice(start, stop)
        possible = self.gold.possible.slice(start, stop)
        self.agreement += agreement(alignments.links, sure, possible)

    def print(self) -> None:
        """Print how the file was read, and the rates, to standard error."""
        parts = [f"{self.file}: {self.gold.format}, words counted from {self.gold.base}"]
        parts += [f"{count:,} {note}" for note, count in self.gold.notes.items()]
        print_line("; ".join(parts), notes)
        print_line(self.agreement, notes)
