"""Inspection of text before training: errors of its reader, such as its encoding, and faulty rows, with examples.

Text is read once, in chunks: memory holds a chunk, eight bytes per line to find duplicates and as many to find shifts,
and at the end some 70 bytes per pair for these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from interlace.core.errors import DataError
from interlace.core.json_files import JsonObject
from interlace.core.progress import Progress, no_progress
from interlace.core.ragged import IntArray
from interlace.data.filters import (
    Chunk,
    Filter,
    Keep,
    characters,
    chunk_of,
    on_all_sides,
    sides,
)
from interlace.data.filters.control import Control
from interlace.data.filters.duplicates import Duplicates
from interlace.data.filters.identical import IdenticalSides
from interlace.data.filters.ratio import Ratio
from interlace.data.filters.script import Script, expected_scripts
from interlace.data.findings import MAX_EXCERPTS, Excerpt, Finding, Level, RowNames
from interlace.data.shifts import find_shift
from interlace.readers import Reader
from interlace.text import Text, TextPairs
from interlace.text.lines import read_lines

Observer = Callable[[Text, RowNames], None]  # called with every side of every chunk


@dataclass
class InspectionReport:
    """Facts and findings about a corpus; facts of a side are under its language."""

    name: str
    facts: JsonObject = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a corpus could not be built from this."""
        return any(finding.level == "error" for finding in self.findings)

    def dump(self) -> JsonObject:
        """Return plain data for JSON."""
        return asdict(self)


@dataclass
class Inspector:
    """Inspects corpora.

    word_tokenizer: the name of what finds the words that are counted. rules: filters with user settings, by name.
    """

    word_tokenizer: str
    rules: Mapping[str, Filter] = field(default_factory=dict)
    progress: Progress = no_progress

    def inspect(
        self,
        name: str,
        reader: Reader,
        paths: Sequence[Path],
        languages: Sequence[str],
        observer: Observer | None = None,
    ) -> InspectionReport:
        """Return a report on one corpus; errors in the data become findings."""
        report = InspectionReport(name)
        names = _row_names(paths, reader, languages)
        rows = _Rows(languages, self.rules, names)
        try:
            for chunk in reader.read_chunks(list(paths), list(languages)):
                split_chunk = self._with_words(chunk)
                if observer is not None:
                    for text in sides(split_chunk):
                        observer(text, names.after(rows.count))
                rows.add(split_chunk)
                self.progress(name, rows.count, 0)
        except DataError as error:
            report.findings.append(
                Finding(
                    "error",
                    "unreadable",
                    1,
                    1,
                    str(error),
                )
            )
            if reader.by_line and len(languages) == 2:
                report.findings += _shifts_of_files(paths)
            return report
        if not rows.words.total():
            about = "nothing is left to train on"
            report.findings.append(
                Finding(
                    "error",
                    "no words",
                    rows.count,
                    rows.count,
                    about,
                )
            )
        report.facts.update(rows.facts())
        report.findings += rows.findings()
        return report

    def _with_words(self, chunk: Chunk) -> Chunk:
        """Return a chunk with the words of the inspector's word tokenizer."""
        texts = [
            Text.of(text.lines, text.language, self.word_tokenizer) for text in sides(chunk)
        ]
        return chunk_of(texts)


@dataclass
class _Measure:
    """A filter, the function that applies it to each chunk, and the rows that it would drop."""

    rule: Filter
    about: str
    keep: Keep
    dropped: int = 0
    examples: list[Excerpt] = field(default_factory=list)

    def finding(self, total: int) -> Finding:
        settings = "".join(f", {key} = {value!r}" for key, value in self.rule.dump().items())
        about = f"{self.about} (filters.{self.rule.name}{settings})"
        level: Level = "warning" if self.dropped * 1000 >= total else "note"
        return Finding(
            level,
            self.rule.name,
            self.dropped,
            total,
            about,
            tuple(self.examples),
        )


class _Rows:
    """Faulty rows of one corpus, chunk by chunk.

    rules: filters with user settings, by name; others have their defaults. names: of all rows.
    """

    def __init__(
        self,
        languages: Sequence[str],
        rules: Mapping[str, Filter],
        names: RowNames,
    ) -> None:
        self.count = 0
        self.words: Counter[str] = Counter()  # by language
        self._characters: Counter[str] = Counter()
        # characters of each line of pairs, by side and chunk
        self._lengths: list[list[IntArray]] = [[], []]
        self._languages = languages
        self._names = names
        self._rules = rules
        self._measures: list[_Measure] = []  # chosen at the first chunk

    def add(self, chunk: Chunk) -> None:
        """Add the rows of a chunk; every filter is applied separately, to rows with a word on every side."""
        if not self._measures:
            self._measures = list(self._choose(chunk))
        for side, text in enumerate(sides(chunk)):
            lengths = characters(text)
            self.words[text.language] += int(text.words.lengths.sum())
            self._characters[text.language] += int(lengths.sum())
            if len(self._languages) == 2:
                self._lengths[side].append(lengths)
        not_empty = on_all_sides(chunk, lambda text: text.words.lengths > 0)
        filtered = chunk.where(not_empty)
        filtered_rows = np.flatnonzero(not_empty)
        for measure in self._measures:
            is_kept = measure.keep(filtered)
            rows = filtered_rows[~is_kept].tolist()
            measure.dropped += len(rows)
            for row in rows[: MAX_EXCERPTS - len(measure.examples)]:
                lines = [text.lines[row] for text in sides(chunk)]
                name = self._names(self.count + row)
                measure.examples.append(Excerpt.of(name, *lines))
        self.count += len(chunk)

    def facts(self) -> JsonObject:
        """Return `rows`, and words and characters by language."""
        by_language = {}
        for language in self._languages:
            by_language[language] = {
                "words": self.words[language],
                "characters": self._characters[language],
            }
        return {"rows": self.count, "sides": by_language}

    def findings(self) -> Iterator[Finding]:
        for measure in self._measures:
            if measure.dropped:
                yield measure.finding(self.count)
        if self._lengths[0]:
            source_lengths, target_lengths = map(np.concatenate, self._lengths)
            yield from _shift_findings(
                source_lengths,
                target_lengths,
                self._names,
            )

    def _choose(self, chunk: Chunk) -> Iterator[_Measure]:
        """Yield the measures that apply to these languages, with the user's settings or the defaults."""
        control = self._rules.get("control", Control())
        yield _Measure(
            control,
            "control characters or broken letters (U+FFFD)",
            control.start(),
        )
        duplicates = self._rules.get("duplicates", Duplicates())
        yield _Measure(duplicates, "exact repetitions", duplicates.start())
        if isinstance(chunk, TextPairs) and len(self._languages) == 2:
            ratio = self._rules.get("ratio") or Ratio(typical=_typical_ratio(chunk))
            about = "one side much longer than the other: not a translation, or truncated?"
            yield _Measure(ratio, about, ratio.start())
            identical = self._rules.get("identical", IdenticalSides())
            about = "both sides are the same: not translated?"
            yield _Measure(identical, about, identical.start())
        script = self._rules.get("script", Script())
        if isinstance(script, Script) and all(map(expected_scripts, self._languages)):
            about = "few letters in the script of the language: the wrong language?"
            yield _Measure(script, about, script.start())


def _typical_ratio(pairs: TextPairs) -> float:
    """Return the words of the target for each of the source, at least 0.01: words per sentence depend on language."""
    source_words = int(pairs.source.words.lengths.sum())
    target_words = int(pairs.target.words.lengths.sum())
    return max(round(max(target_words, 1) / max(source_words, 1), 2), 0.01)


def _shifts_of_files(paths: Sequence[Path]) -> Iterator[Finding]:
    """Yield a finding for each pair of line-aligned files that are shifted, if they can be read."""
    half = len(paths) // 2
    for source, target in zip(paths[:half], paths[half:], strict=True):
        with suppress(DataError):
            source_lengths = np.fromiter(map(len, read_lines(source)), np.int64)
            target_lengths = np.fromiter(map(len, read_lines(target)), np.int64)
            yield from _shift_findings(
                source_lengths,
                target_lengths,
                RowNames(f"{source.name}:"),
            )


def _shift_findings(source: IntArray, target: IntArray, names: RowNames) -> Iterator[Finding]:
    """Yield a finding if the sides are shifted, by the characters of their lines."""
    shift = find_shift(source, target)
    if shift is None:
        return
    lines = "line" if abs(shift.offset) == 1 else "lines"
    direction = "below" if shift.offset > 0 else "above"
    about = (
        f"from about {names(shift.first)} to {names(shift.end - 1)} the sources fit the targets {abs(shift.offset)} "
        f"{lines} {direction}; is a line lost, or split in two, on one side?"
    )
    yield Finding(
        "warning",
        "shifted sides",
        shift.end - shift.first,
        len(source),
        about,
    )


def _row_names(paths: Sequence[Path], reader: Reader, languages: Sequence[str]) -> RowNames:
    """Return names `"train.en:12"` for lines of one file, `"line 12"` for parallel ones, otherwise `"row 12"`."""
    if reader.by_line and len(paths) == 1:
        return RowNames(f"{paths[0].name}:")
    if reader.by_line and len(paths) == len(languages):
        return RowNames("line ")
    return RowNames("row ")
