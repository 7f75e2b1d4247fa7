"""Natural language inference as tables: XNLI's by default, others (SICK) by naming their columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.errors import DataError
from interlace.readers import Reader
from interlace.readers._columns import rows
from interlace.readers._common import chunks_of, one_language, plain_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import TextPairs

LABELS = ("entailment", "neutral", "contradiction")
_SYNONYMS = {"contradictory": "contradiction"}  # in XNLI's machine-translated training files
_UNDECIDED = "-"  # the annotators did not agree


class Nli(Reader):
    """Premise and hypothesis as the two sides of pairs in one language, labelled entailment, neutral, contradiction.

    Pairs without a majority label (`-`) are left out and counted. Case does not matter in labels.
    """

    premise: str = Field("sentence1", description="Column of the premise (SICK: sentence_A).")
    hypothesis: str = Field("sentence2", description="Column of the hypothesis (SICK: sentence_B).")
    label: str = Field("gold_label", description="Column of the label (SICK: entailment_judgment).")
    language_column: str = Field("language", description="Where this column exists, other languages' rows are skipped.")
    splitter: str = Field("blanks", description="What finds the words (a member of the room of word splitters).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """The files one after another; one language makes `TextPairs` with it on both sides."""
        language = one_language("nli", paths, languages)
        notes: Counter[str] = Counter()
        found = False
        for chunk in chunks_of(item for path in paths for item in self._pairs(path, language, notes)):
            found = True
            premises, hypotheses, labels = map(list, zip(*chunk, strict=True))
            yield plain_pairs((premises, hypotheses), (language, language), self.splitter, labels, notes)
            notes.clear()
        if not found:
            names = ", ".join(str(path) for path in paths)
            raise DataError(f"{names}: no labelled pair of language {language!r}")

    def _pairs(self, path: Path, language: str, notes: Counter[str]) -> Iterator[tuple[str, str, str]]:
        wanted = (self.premise, self.hypothesis, self.label)
        for row in rows(path, wanted, header=True, optional=(self.language_column,)):
            premise, hypothesis, label, own = row.cells
            if own and own != language:
                continue
            name = label.strip().lower()
            name = _SYNONYMS.get(name, name)
            if name == _UNDECIDED:
                notes["pairs without a majority label left out"] += 1
            elif name not in LABELS:
                raise row.error(f"label {label!r}, expected one of {', '.join(LABELS)} (or {_UNDECIDED!r}: left out)")
            else:
                yield premise, hypothesis, name
