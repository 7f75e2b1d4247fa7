"""Align the words of parallel text."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
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
from interlace.alignment import WordPairs
from interlace.alignment.agreement import Agreement, agreement
from interlace.alignment.formats import GoldAlignments, read_alignments
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.alignment import Source, numbered, record_of, record_path
from interlace.cli.common.options import nested_changes
from interlace.cli.common.output import file_to, lines_to, print_summary
from interlace.cli.common.progress import watching
from interlace.core.errors import SettingsError
from interlace.core.files import must_be_replaceable, must_exist
from interlace.core.json_files import write_json
from interlace.core.outputs import is_standard_output, is_stream
from interlace.core.progress import Progress, no_progress
from interlace.data.tokenization import AUTO

if TYPE_CHECKING:
    from interlace.report.figures.alignment_matrix import AlignmentMatrix

log = logging.getLogger(__name__)


def align(
    source: Annotated[
        Path,
        typer.Argument(metavar="SRC", help="Source text; without TGT, lines `source ||| target`."),
    ],
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="TGT",
            help="Target text, line by line a translation of SRC.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            "--aligner",
            help="Aligner: see `interlace list aligners`. Default: gibbs.",
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
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "auto",
    reader: options.ReaderName = "",
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
            "--priors", help="Prior dictionary: source, tab, target, optionally a tab and a count."
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
            "Output file for the confidence of each link, one line per pair.", option="--confidence"
        ),
    ] = None,
    figure: Annotated[
        Path | None, options.output("SVG file for a drawing of one pair.", option="--figure")
    ] = None,
    pair: Annotated[
        int, typer.Option("--pair", min=1, help="Line number of the drawn pair, from 1.")
    ] = 1,
    into: Annotated[
        Path | None, options.output(options.OUTPUT_FILE, default_is_standard=True, beside=record_of)
    ] = None,
    code: Code = [],
    as_json: options.JsonSummary = False,
) -> None:
    """Align the words of parallel text: one line such as `0-0 1-2` per sentence pair, words counted from 0."""
    load_plugins(code)
    drawing = _Drawing(figure, pair)
    scoring = None if gold is None else _Scoring(must_exist(gold, "gold alignment file"))
    training_options = {
        "--aligner": name,
        "--set": changes,
        "--priors": priors,
        "--save-model": save_model,
    }
    saved = None
    if load_model is not None:
        saved = _load(load_model, {**training_options, "--extra": extra})
        word_tokenizer = _tokenizer_of(saved, word_tokenizer)
    aligner = saved.aligner if saved else _aligner(name or DEFAULT_ALIGNER, changes, save_model)
    dictionary = None if priors is None else must_exist(priors, "dictionary")
    text = Source.of(
        [source] if target is None else [source, target], languages, reader, word_tokenizer
    )
    start = time.perf_counter()
    with watching() as progress:
        words, rows = numbered([text] if extra is None else [text, text.like(extra)], progress)
        pairs = words.slice(0, rows)
        drawing.check(pairs)
        if scoring is not None:
            scoring.read(pairs, text)
        fitted = saved or _trained(aligner, words, dictionary, save_model, progress)
    if saved is not None:
        _warn_of_other_text(saved, words)
    shows_bar = into is not None or not sys.stdout.isatty()  # a terminal shows alignments or a bar
    with watching() if shows_bar else nullcontext(no_progress) as progress:
        aligned = _aligned(pairs, fitted, progress, is_training_text=saved is None)
        links = _write(aligned, into, confidence_into, drawing, scoring)
    drawing.write()
    about = {
        "aligner": aligner.name,
        "settings": aligner.dump(),
        "pairs": rows,
        "languages": text.languages,
        "word_tokenizer": text.word_tokenizer,
    }
    if into is not None and not is_stream(into):
        write_json(record_path(into), about)
    seconds = round(time.perf_counter() - start, 3)
    scores = None if scoring is None else scoring.summary()
    if scoring is not None and not as_json:
        scoring.print()
    is_taken = _is_standard_output(confidence_into) or _is_standard_output(
        figure
    )  # a path is no part of these
    summary = {
        **about,
        "extra": len(words) - rows,
        "seconds": seconds,
        "links": links,
        "gold": scores,
    }
    print_summary(None if is_taken else into, as_json, summary)


def _is_standard_output(path: Path | None) -> bool:
    return path is not None and is_standard_output(path)


def _load(folder: Path, training_options: dict[str, object]) -> FittedAligner:
    """Load a saved aligner; reject options that it fixes."""
    fixed = [option for option, value in training_options.items() if value]
    if fixed:
        raise SettingsError(
            f"--load-model: the saved model fixes these settings, so leave out {', '.join(fixed)}"
        )
    return load_aligner(folder)


def _tokenizer_of(saved: FittedAligner, option: str) -> str:
    """Return the word tokenizer of the option, by default that of the text that a saved aligner was trained on."""
    return saved.trained_on.word_tokenizer if option == AUTO and saved.trained_on else option


def _warn_of_other_text(saved: FittedAligner, words: WordPairs) -> None:
    mismatch = saved.trained_on.mismatch(words) if saved.trained_on else ""
    if mismatch:
        log.warning("--load-model: %s; alignments may be poor", mismatch)


def _aligner(name: str, changes: list[str], save_folder: Path | None) -> Aligner:
    """Build an aligner from the options."""
    settings = nested_changes(changes, "key=value, such as seed=1")
    aligner: Aligner = ALIGNERS.get(name).read(settings, f"--aligner {name}")
    if save_folder is not None:
        if not aligner.can_save:
            raise SettingsError(f"--save-model: the aligner {name!r} has no model to save")
        must_be_replaceable(save_folder, ALIGNER_FILE, "aligner", CONTENTS)
    return aligner


def _trained(
    aligner: Aligner,
    words: WordPairs,
    dictionary: Path | None,
    save_folder: Path | None,
    progress: Progress,
) -> FittedAligner:
    """Train an aligner, and save it in the folder, if there is one."""
    prior = None if dictionary is None else Lexicon.read(dictionary)
    fitted = aligner.fit(words, prior, progress)
    if save_folder is not None:
        fitted.save(save_folder, words)
    return fitted


def _aligned(
    pairs: WordPairs, fitted: FittedAligner, progress: Progress, *, is_training_text: bool
) -> Iterator[tuple[WordPairs, Alignments]]:
    """Yield the pairs in chunks, with their alignments."""
    for chunk in pairs.chunks():
        yield chunk, fitted.align_training_pairs(chunk) if is_training_text else fitted.align(chunk)
        progress("linking", chunk.first + len(chunk), len(pairs))


def _write(
    aligned: Iterable[tuple[WordPairs, Alignments]],
    output: Path | None,
    confidence_output: Path | None,
    drawing: _Drawing,
    scoring: _Scoring | None,
) -> int:
    """Write alignments (to standard output without a path) and confidences; return the number of links."""
    links = 0
    confidence_lines_to = (
        nullcontext() if confidence_output is None else lines_to(confidence_output)
    )
    with lines_to(output) as write, confidence_lines_to as write_confidences:
        for pairs, alignments in aligned:
            write(pharaoh_lines(alignments.links))
            if write_confidences is not None:
                write_confidences(_confidence_lines(alignments))
            if scoring is not None:
                scoring.add(pairs, alignments)
            drawing.add(pairs, alignments, scoring)
            links += len(alignments.links.flat)
    return links


def _confidence_lines(alignments: Alignments) -> Iterator[str]:
    texts = [f"{confidence:.4g}" for confidence in alignments.confidence.tolist()]
    offsets = alignments.links.offsets - alignments.links.offsets[0]  # (pairs + 1,)
    for start, stop in pairwise(offsets.tolist()):
        yield " ".join(texts[start:stop])


class _Scoring:
    """Agreement with the gold alignments of a file."""

    gold: GoldAlignments

    def __init__(self, file: Path) -> None:
        self.file = file
        self.agreement = Agreement()

    def read(self, pairs: WordPairs, text: Source) -> None:
        """Read the gold alignments of the pairs."""
        self.gold = read_alignments(
            self.file, (pairs.source.lengths, pairs.target.lengths), text.numbers
        )

    def add(self, pairs: WordPairs, alignments: Alignments) -> None:
        """Score the alignments of a chunk of the pairs."""
        start = pairs.first
        stop = pairs.first + len(pairs)
        sure = self.gold.sure.slice(start, stop)
        possible = self.gold.possible.slice(start, stop)
        self.agreement += agreement(alignments.links, sure, possible)

    def summary(self) -> dict[str, Any]:
        """Return rates, counts, and how the file was read."""
        rates = {
            name: getattr(self.agreement, name) for name in ("precision", "recall", "f1", "aer")
        }
        gold = self.gold
        reading = {
            "file": str(self.file),
            "format": gold.format,
            "base": gold.base,
            "notes": gold.notes,
        }
        return {**rates, **asdict(self.agreement), **reading}

    def print(self) -> None:
        """Print how the file was read, and the rates, to standard error."""
        parts = [f"{self.file}: {self.gold.format}, words counted from {self.gold.base}"]
        parts += [f"{count:,} {note}" for note, count in self.gold.notes.items()]
        print_line("; ".join(parts), notes)
        print_line(self.agreement, notes)


class _Drawing:
    """The drawing of one pair, if a path is given for it; number: of the pair, from 1."""

    def __init__(self, path: Path | None, number: int) -> None:
        if path is None and number != 1:
            raise SettingsError("--pair names the pair that --figure draws; add --figure FILE.svg")
        if path is not None:
            from interlace.report.figure_files import check_figure_path

            check_figure_path(path)
        self.path = path
        self.number = number
        self.matrix: AlignmentMatrix | None = None

    def check(self, pairs: WordPairs) -> None:
        """Check that the text has the pair."""
        if self.path is not None and self.number > len(pairs):
            raise SettingsError(f"--pair {self.number}: the text has {len(pairs)} pairs")

    def add(self, pairs: WordPairs, alignments: Alignments, scoring: _Scoring | None) -> None:
        """Keep the alignments of the pair if it is in this chunk."""
        row = self.number - 1
        if self.path is None or not pairs.first <= row < pairs.first + len(pairs):
            return
        from interlace.report.figures.alignment_matrix import AlignmentMatrix

        gold = {}
        if scoring is not None:
            gold = {
                "sure": scoring.gold.sure[row].tolist(),
                "possible": scoring.gold.possible[row].tolist(),
            }
        self.matrix = AlignmentMatrix.of(pairs, alignments, row - pairs.first, **gold)

    def write(self) -> None:
        """Write the figure."""
        if self.path is None or self.matrix is None:
            return
        from interlace.report.figure_files import write_figure
        from interlace.report.figures.alignment_matrix import alignment_matrix

        with file_to(self.path) as partial:
            write_figure(alignment_matrix(self.matrix), partial)
