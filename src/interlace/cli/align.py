"""Align the words of parallel text."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

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
from interlace.cli.common.options import parse_changes
from interlace.cli.common.output import file_to, lines_to, print_summary
from interlace.cli.common.progress import watching
from interlace.core.errors import SettingsError
from interlace.core.files import must_be_replaceable, must_exist
from interlace.core.json_files import write_json
from interlace.core.outputs import is_standard_output, is_stream
from interlace.core.progress import Progress, no_progress
from interlace.core.store import change
from interlace.data.tokenization import AUTO

log = logging.getLogger(__name__)


def align(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Source text; without TGT, lines `source ||| target`.")],
    target: Annotated[
        Path | None,
        typer.Argument(metavar="TGT", help="Target text, line by line a translation of SRC.", show_default=False),
    ] = None,
    name: Annotated[
        str, typer.Option("--aligner", help="Aligner: see `interlace list aligners`. Default: gibbs.", metavar="NAME")
    ] = "",
    changes: Annotated[
        list[str],
        typer.Option("--set", help="A setting of the aligner, such as seed=1 (repeatable).", metavar="KEY=VALUE"),
    ] = [],
    symmetrization: Annotated[
        str,
        typer.Option(
            "--symmetrization", help="Heuristic, such as grow-diag-final-and. Default: the aligner's.", metavar="NAME"
        ),
    ] = "",
    memory: Annotated[
        float | None,
        typer.Option("--memory", min=1e-6, help="GB of memory for the counts of `diagonal` (4); the rest is on disk."),
    ] = None,
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
        typer.Option("--priors", help="Prior dictionary: source, tab, target, optionally a tab and a count."),
    ] = None,
    load_model: Annotated[
        Path | None, typer.Option("--load-model", help="Align with this saved model, without training.")
    ] = None,
    save_model: Annotated[
        Path | None,
        options.output("Save the trained aligner in this folder.", option="--save-model", kind="folder"),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", help="Gold alignments: prints precision, recall, F1 and AER.")
    ] = None,
    confidence_into: Annotated[
        Path | None,
        options.output("Output file for the confidence of each link, one line per pair.", option="--confidence"),
    ] = None,
    figure: Annotated[Path | None, options.output("SVG file for a drawing of one pair.", option="--figure")] = None,
    pair: Annotated[int, typer.Option("--pair", min=1, help="Line number of the drawn pair, from 1.")] = 1,
    into: Annotated[
        Path | None, options.output(options.OUTPUT_FILE, default_is_standard=True, beside=record_of)
    ] = None,
    code: Code = [],
    as_json: options.JsonSummary = False,
) -> None:
    """Align the words of parallel text: one line such as `0-0 1-2` per sentence pair, words counted from 0."""
    load_plugins(code)
    outputs = _Outputs(into, confidence_into, figure, pair, gold, as_json)
    changes = [*changes, f"memory={memory}"] if memory else changes
    saved = None
    if load_model is not None:
        given: dict[str, object] = {"--aligner": name, "--set": changes, "--symmetrization": symmetrization}
        saved = _saved(load_model, given | {"--priors": priors, "--save-model": save_model, "--extra": extra})
        if saved.trained_on and word_tokenizer == AUTO:
            word_tokenizer = saved.trained_on.word_tokenizer
    aligner = saved.aligner if saved else _aligner(name or DEFAULT_ALIGNER, changes, symmetrization, save_model)
    dictionary = None if priors is None else must_exist(priors, "dictionary")
    text = Source.of([source] if target is None else [source, target], languages, reader, word_tokenizer)
    start = time.perf_counter()
    with watching() as progress:
        words, rows = numbered([text] if extra is None else [text, text.like(extra)], progress)
        own = words.slice(0, rows)
        outputs.prepare(own, text)
        fitted = saved or _trained(aligner, words, dictionary, save_model, progress)
    if saved and saved.trained_on and (why := saved.trained_on.mismatch(words)):
        log.warning("--load-model: %s; alignments may be poor", why)
    quiet = into is not None or not sys.stdout.isatty()  # a terminal shows alignments or a bar
    with watching() if quiet else nullcontext(no_progress) as progress:
        outputs.write(_aligned(own, fitted, progress, trained_here=saved is None))
    about = {"aligner": aligner.name, "settings": aligner.dump(), "pairs": rows}
    about |= {"languages": text.languages, "word_tokenizer": text.word_tokenizer}
    if into is not None and not is_stream(into):
        write_json(record_path(into), about)
    outputs.print_summary({**about, "extra": len(words) - rows, "seconds": round(time.perf_counter() - start, 3)})


def _saved(folder: Path, given: dict[str, object]) -> FittedAligner:
    """Load a saved aligner; reject options that it fixes."""
    if others := [option for option, value in given.items() if value]:
        raise SettingsError(f"--load-model: the saved model fixes these settings, so leave out {', '.join(others)}")
    return load_aligner(folder)


def _trained(
    aligner: Aligner, words: WordPairs, dictionary: Path | None, folder: Path | None, progress: Progress
) -> FittedAligner:
    """Train an aligner, and save it in the folder, if there is one."""
    fitted = aligner.fit(words, None if dictionary is None else Lexicon.read(dictionary), progress)
    if folder is not None:
        fitted.save(folder, words)
    return fitted


def _aligned(
    words: WordPairs, fitted: FittedAligner, progress: Progress, *, trained_here: bool
) -> Iterator[tuple[WordPairs, Alignments]]:
    for chunk in words.chunks():
        yield chunk, fitted.align_training_pairs(chunk) if trained_here else fitted.align(chunk)
        progress("linking", chunk.first + len(chunk), len(words))


def _aligner(name: str, changes: list[str], symmetrization: str, folder: Path | None) -> Aligner:
    """Build an aligner from the options; `folder`: to save it in."""
    given: dict[str, Any] = {}
    settings = parse_changes(changes, "key=value, such as seed=1")
    for key, value in (settings | ({"symmetrization": symmetrization} if symmetrization else {})).items():
        change(given, key, value)
    aligner: Aligner = ALIGNERS.get(name).read(given, f"--aligner {name}")
    if folder is not None:
        if not aligner.can_save:
            raise SettingsError(f"--save-model: the aligner {name!r} has no model to save")
        must_be_replaceable(folder, ALIGNER_FILE, "aligner", CONTENTS)
    return aligner


@dataclass
class _Outputs:
    """What `align` writes: alignments, confidences, scores against gold, and the figure of one pair.

    into: file for the alignments; None: standard output. pair: number of the pair in the figure, from 1.
    """

    into: Path | None
    confidence: Path | None
    figure: Path | None
    pair: int
    gold_file: Path | None
    as_json: bool
    gold: GoldAlignments | None = None
    agreement: Agreement = field(default_factory=Agreement)
    links: int = 0

    def __post_init__(self) -> None:
        """Check the options before anything is read."""
        if self.pair != 1 and self.figure is None:
            raise SettingsError("--pair names the pair that --figure draws; add --figure FILE.svg")
        if self.gold_file is not None:
            must_exist(self.gold_file, "gold alignment file")
        if self.figure is not None:
            from interlace.report.figure_files import check_figure_path

            check_figure_path(self.figure)

    def prepare(self, words: WordPairs, text: Source) -> None:
        """Read the gold alignments and check them and the figure's pair against the text, before fitting."""
        if self.figure is not None and self.pair > len(words):
            raise SettingsError(f"--pair {self.pair}: the text has {len(words)} pairs")
        if self.gold_file is not None:
            lengths = words.source.lengths, words.target.lengths
            self.gold = read_alignments(self.gold_file, lengths, text.numbers)

    def write(self, aligned: Iterable[tuple[WordPairs, Alignments]]) -> None:
        """Write alignments and confidences chunk by chunk, score them, and write the figure."""
        matrix = None
        confidences = nullcontext() if self.confidence is None else lines_to(self.confidence)
        with lines_to(self.into) as write, confidences as write_confidences:
            for words, found in aligned:
                write(pharaoh_lines(found.links))
                if write_confidences is not None:
                    write_confidences(_confidence_lines(found))
                if self.gold is not None:
                    rows = words.first, words.first + len(found.links)
                    self.agreement += agreement(
                        found.links, self.gold.sure.slice(*rows), self.gold.possible.slice(*rows)
                    )
                if self.figure is not None and words.first < self.pair <= words.first + len(words):
                    from interlace.report.runs import AlignmentMatrix

                    gold = {}
                    if self.gold is not None:
                        known = {"sure": self.gold.sure, "possible": self.gold.possible}
                        gold = {name: links[self.pair - 1].tolist() for name, links in known.items()}
                    matrix = AlignmentMatrix.of(words, found, self.pair - 1 - words.first, **gold)
                self.links += len(found.links.flat)
        if self.figure is not None and matrix is not None:
            from interlace.report.figure_files import write_figure
            from interlace.report.figures.alignment_matrix import alignment_matrix

            with file_to(self.figure) as partial:
                write_figure(alignment_matrix(matrix), partial)

    def print_summary(self, about: dict[str, Any]) -> None:
        """Print scores to standard error, or everything as JSON."""
        scores = None
        if (gold := self.gold) is not None:
            rates = {name: getattr(self.agreement, name) for name in ("precision", "recall", "f1", "aer")}
            read = {"file": str(self.gold_file), "format": gold.format, "base": gold.base, "notes": gold.notes}
            scores = {**rates, **asdict(self.agreement), **read}
            if not self.as_json:
                counts = [f"{count:,} {note}" for note, count in gold.notes.items()]
                first = f"{self.gold_file}: {gold.format}, words counted from {gold.base}"
                print_line("; ".join([first, *counts]), notes)
                print_line(self.agreement, notes)
        beside = [path for path in (self.confidence, self.figure) if path is not None]
        is_taken = any(map(is_standard_output, beside))  # the path of the alignments is no part of that output
        print_summary(None if is_taken else self.into, self.as_json, {**about, "links": self.links, "gold": scores})


def _confidence_lines(found: Alignments) -> Iterator[str]:
    values = [f"{value:.4g}" for value in found.confidence.tolist()]
    for start, stop in pairwise((found.links.offsets - found.links.offsets[0]).tolist()):
        yield " ".join(values[start:stop])
