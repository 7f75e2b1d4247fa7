"""Align the words of parallel text."""

from __future__ import annotations

import logging
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

from interlace.aligners import ALIGNER_FILE, ALIGNERS, DEFAULT_ALIGNER, load_aligner
from interlace.alignment.agreement import Agreement, agreement
from interlace.alignment.formats import read_alignments
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.cli import Code, load_plugins, notes
from interlace.cli.common import alignment_options as options
from interlace.cli.common.alignment import lines_to, must_leave_room, say
from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.files import must_be_replaceable, must_exist

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from interlace.aligners import Aligner, Alignments, FittedAligner
    from interlace.alignment import WordPairs
    from interlace.alignment.formats import GoldAlignments
    from interlace.cli.common.alignment import Source
    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged
    from interlace.report.runs import AlignmentMatrix


def align(
    source: options.SourceFile,
    target: options.TargetFile = None,
    name: options.With = "",
    changes: options.Changes = [],
    symmetrization: options.Symmetrization = "",
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "whitespace",
    reader: options.ReaderName = "",
    extra: options.Extra = None,
    priors: options.Priors = None,
    use: options.Use = None,
    model: options.Model = None,
    gold: options.GoldFile = None,
    confidence: options.Confidence = None,
    figure: options.Figure = None,
    pair: options.PairNumber = 1,
    into: options.Into = None,
    code: Code = [],
    as_json: options.Summary = False,
) -> None:
    """Align the words of parallel text: one line such as `0-0 1-2` per sentence pair, words counted from 0."""
    load_plugins(code)
    from interlace.cli.common.alignment import Source
    from interlace.cli.common.options import parse_changes

    settings = parse_changes(changes, "key=value, such as seed=1") | (
        {"symmetrization": symmetrization} if symmetrization else {}
    )
    results = Results(into, confidence, figure, pair, gold, as_json)
    if use is None:
        learning = Learning.of(name, settings, priors, model)
    else:
        others = {
            "--aligner": name,
            "--set": changes,
            "--symmetrization": symmetrization,
            "--priors": priors,
            "--save-model": model,
        }
        learning = Learning.saved_in(use, {**others, "--extra": extra})
    text = Source.of([source] if target is None else [source, target], languages, reader, word_tokenizer)
    _run([text] if extra is None else [text, text.like(extra)], learning, results)


def _run(texts: Sequence[Source], learning: Learning, results: Results) -> None:
    """Read the text, check all inputs, fit the aligner and write alignments chunk by chunk."""
    from interlace.cli.common.alignment import numbered
    from interlace.cli.common.progress import watching
    from interlace.core.progress import no_progress

    start = time.perf_counter()
    with TemporaryDirectory() as spool:
        with watching() as progress:
            words, rows = numbered(texts, Path(spool), progress)
            own = words.slice(0, rows)
            results.prepare(own, texts[0])
            fitted = learning.fit(words, progress)
        with (
            watching() if results.is_quiet else nullcontext(no_progress) as progress
        ):  # a bar would be drawn between alignments on a terminal
            results.write(_linked(own, learning, fitted, progress))
    about = {"aligner": learning.aligner.name, "settings": learning.aligner.dump(), "pairs": rows}
    results.say({**about, "extra": len(words) - rows, "seconds": round(time.perf_counter() - start, 3)})


def _linked(
    words: WordPairs, learning: Learning, fitted: FittedAligner, progress: Progress
) -> Iterator[tuple[WordPairs, Alignments]]:
    for chunk in words.chunks():
        yield chunk, learning.links(fitted, chunk)
        progress("linking", chunk.first + len(chunk), len(words))


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learning:
    """An aligner to fit, with its prior dictionary and the folder to save to; or a saved model."""

    aligner: Aligner
    saved: FittedAligner | None = None
    priors: Path | None = None
    model: Path | None = None

    @classmethod
    def of(cls, name: str, settings: Mapping[str, str], priors: Path | None, model: Path | None) -> Learning:
        """Build an aligner from its name and the settings of the command line.

        Raises:
            SettingsError: there is no such aligner or setting, or the aligner cannot be saved.
            DataError: a file is missing, or the model folder holds other files.
        """
        name = name or DEFAULT_ALIGNER
        kind = ALIGNERS.get(name)
        if "symmetrization" in settings:
            _must_join(kind, name, settings["symmetrization"])
        aligner = kind.read({key: _parsed(value) for key, value in settings.items()}, f"--aligner {name}")
        if model is not None:
            if not aligner.can_save:
                raise SettingsError(f"--save-model: the aligner {name!r} has no model to save")
            must_be_replaceable(model, ALIGNER_FILE, "aligner")
        return cls(aligner, priors=None if priors is None else must_exist(priors, "dictionary"), model=model)

    @classmethod
    def saved_in(cls, folder: Path, others: Mapping[str, Any]) -> Learning:
        """Load a saved model; `others` are options that cannot be combined with it.

        Raises:
            SettingsError: one of them was given.
            DataError: the folder holds no model.
        """
        if given := [option for option, value in others.items() if value]:
            raise SettingsError(f"--load-model: the saved model fixes these settings, so leave out {', '.join(given)}")
        fitted = load_aligner(folder)
        return cls(fitted.aligner, fitted)

    def fit(self, words: WordPairs, progress: Progress) -> FittedAligner:
        """Return the fitted aligner; saves it if requested."""
        if self.saved is not None:
            if self.saved.trained_on is not None and (why := self.saved.trained_on.mismatch(words)):
                log.warning("--load-model: %s; alignments may be poor", why)
            return self.saved
        fitted = self.aligner.fit(words, None if self.priors is None else Lexicon.read(self.priors), progress)
        if self.model is not None:
            fitted.save(self.model, words)
        return fitted

    def links(self, fitted: FittedAligner, words: WordPairs) -> Alignments:
        """Align some of the pairs."""
        return fitted.align_training_pairs(words) if self.saved is None else fitted.align(words)


def _parsed(value: str) -> Any:
    """Parse a TOML list; other values stay strings, which settings convert."""
    if value.startswith("["):
        try:
            return tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            return value
    return value


def _must_join(kind: type[Aligner], name: str, heuristic: str) -> None:
    """Reject a heuristic that the aligner does not support."""
    field = kind.model_fields.get("symmetrization")
    if field is None:
        raise SettingsError(f"--symmetrization: the aligner {name!r} does not join two directions")
    if heuristic not in (known := _choices(field.annotation)):
        raise SettingsError(
            f"--symmetrization: {name!r} has no heuristic {heuristic!r}{did_you_mean(heuristic, known)}"
        )


def _choices(annotation: Any) -> list[str]:
    """Return the choices of a `Literal`, or of a union of several."""
    if isinstance(annotation, str):
        return [annotation]
    return [word for part in get_args(annotation) for word in _choices(part)]


@dataclass
class Judge:
    """Gold alignments, and the agreement of the alignments seen so far."""

    path: Path
    gold: GoldAlignments
    found: Agreement = field(default_factory=Agreement)

    @classmethod
    def of(cls, path: Path, words: WordPairs, numbers: NDArray[np.int64] | None) -> Judge:
        """Read the gold alignments of a text.

        numbers: sentence numbers of the gold format, or None.

        Raises:
            DataError: the file has an unknown format, or does not match the text.
        """
        return cls(path, read_alignments(path, (words.source.lengths, words.target.lengths), numbers))

    def see(self, first: int, links: Ragged) -> None:
        """Score the links of the pairs from index `first` on."""
        sure, possible = (side.slice(first, first + len(links)) for side in (self.gold.sure, self.gold.possible))
        self.found += agreement(links, sure, possible)

    def dump(self) -> dict[str, Any]:
        """Return scores, counts and the format of the gold file, for JSON."""
        rates = {name: getattr(self.found, name) for name in ("precision", "recall", "f1", "aer")}
        read = {"file": str(self.path), "format": self.gold.format, "base": self.gold.base, "notes": self.gold.notes}
        return {**rates, **asdict(self.found), **read}

    def say(self) -> None:
        """Print the scores to standard error."""
        lines = [f"{self.path}: {self.gold.format}, words counted from {self.gold.base}"]
        lines += [f"{count:,} {note}" for note, count in self.gold.notes.items()]
        notes.print("; ".join(lines), highlight=False, soft_wrap=True, markup=False)
        notes.print(str(self.found), highlight=False, soft_wrap=True)


@dataclass
class Results:
    """Outputs of `align`: alignments, confidences, scores against gold, and the figure of one pair.

    into: file for the alignments; None: standard output. pair: number of the pair in the figure, from 1.
    """

    into: Path | None
    confidence: Path | None
    figure: Path | None
    pair: int
    gold: Path | None
    as_json: bool
    judge: Judge | None = None
    links: int = 0

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            SettingsError: outputs exclude each other, or the figure has an unknown suffix.
            DataError: the gold file is missing.
            MissingDependencyError: the figure's format needs a package that is not installed.
        """
        must_leave_room(self.into, self.as_json)
        if self.gold is not None:
            must_exist(self.gold, "gold alignment file")
        if self.figure is not None:
            from interlace.report.svg import check_figure_path

            check_figure_path(self.figure)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is written to the terminal, so that a progress bar can be shown."""
        return self.into is not None or not sys.stdout.isatty()

    def prepare(self, words: WordPairs, text: Source) -> None:
        """Read the gold alignments and check them against the text, before fitting.

        Raises:
            SettingsError: the text has no such pair.
            DataError: the gold alignments belong to another text.
        """
        if self.figure is not None and self.pair > len(words):
            raise SettingsError(f"--pair {self.pair}: the text has {len(words)} pairs")
        if self.gold is not None:
            self.judge = Judge.of(self.gold, words, text.numbers)

    def write(self, aligned: Iterable[tuple[WordPairs, Alignments]]) -> None:
        """Write alignments chunk by chunk, and the figure."""
        matrix = None
        grades_to = nullcontext() if self.confidence is None else lines_to(self.confidence)
        with lines_to(self.into) as write, grades_to as write_grades:
            for words, found in aligned:
                write(pharaoh_lines(found.links))
                if write_grades is not None:
                    write_grades(_grades(found))
                if self.judge is not None:
                    self.judge.see(words.first, found.links)
                if self.figure is not None and words.first < self.pair <= words.first + len(words):
                    matrix = self._matrix(words, found)
                self.links += len(found.links.flat)
        if self.figure is not None and matrix is not None:
            from interlace.report.matrices import alignment_matrix
            from interlace.report.svg import write_figure

            write_figure(alignment_matrix(matrix), self.figure)

    def say(self, about: dict[str, Any]) -> None:
        """Print scores to standard error, or everything as JSON."""
        gold = None if self.judge is None else self.judge.dump()
        if self.judge is not None and not self.as_json:
            self.judge.say()
        say(self.into, self.as_json, {**about, "links": self.links, "gold": gold})

    def _matrix(self, words: WordPairs, found: Alignments) -> AlignmentMatrix:
        """Return the figure of the chosen pair."""
        from interlace.report.runs import AlignmentMatrix

        row = self.pair - 1 - words.first
        first, last = (found.links.offsets[row + step] - found.links.offsets[0] for step in (0, 1))
        gold = {}
        if self.judge is not None:
            read = self.judge.gold
            gold = {"sure": read.sure[self.pair - 1].tolist(), "possible": read.possible[self.pair - 1].tolist()}
        return AlignmentMatrix(
            corpus="-".join(words.languages) if words.languages != ("source", "target") else "",
            source=[words.source_types[word] for word in words.source[row]],
            target=[words.target_types[word] for word in words.target[row]],
            links=found.links[row].tolist(),
            confidence=found.confidence[first:last].tolist(),
            **gold,
        )


def _grades(found: Alignments) -> Iterator[str]:
    """The confidence of each link of a pair, a line a pair."""
    grades = [f"{grade:.4g}" for grade in found.confidence.tolist()]
    offsets = (found.links.offsets - found.links.offsets[0]).tolist()
    for start, stop in pairwise(offsets):
        yield " ".join(grades[start:stop])
