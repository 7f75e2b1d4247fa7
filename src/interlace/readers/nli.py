"""Natural language inference as tables: XNLI, its machine translations, MultiNLI and SICK, others by their columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common.tables import tsv_rows
from interlace.readers.common.text import chunks_of, one_language, plain_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import TextPairs

LABELS = ("entailment", "neutral", "contradiction")
_SYNONYMS = {"contradictory": "contradiction"}  # in XNLI's machine-translated training files
_UNDECIDED = "-"  # the annotators did not agree
_USUAL = {  # names of XNLI and MultiNLI, of XNLI's machine translations, and of SICK
    "premise": ("sentence1", "premise", "sentence_A"),
    "hypothesis": ("sentence2", "hypo", "hypothesis", "sentence_B"),
    "label": ("gold_label", "label", "entailment_judgment"),
}


def _usual(column: str) -> str:
    return f"Column of the {column}; default: the first present of {', '.join(_USUAL[column])}."


class Nli(Reader):
    """Premise and hypothesis as the two sides of pairs in one language, labelled entailment, neutral, contradiction.

    Pairs without a majority label (`-`) are left out and counted. Labels are compared without case.
    """

    premise: str | None = Field(None, description=_usual("premise"))
    hypothesis: str | None = Field(None, description=_usual("hypothesis"))
    label: str | None = Field(None, description=_usual("label"))
    language_column: str = Field("language", description="Column of the language; rows of other languages are skipped.")
    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; both sides of the pairs are in the one language."""
        language = one_language("nli", paths, languages)
        notes: Counter[str] = Counter()
        found = False
        for chunk in chunks_of(item for path in paths for item in self._pairs(path, language, notes)):
            found = True
            premises, hypotheses, labels = map(list, zip(*chunk, strict=True))
            yield plain_pairs((premises, hypotheses), (language, language), self.word_tokenizer, labels, notes)
            notes.clear()
        if not found:
            names = ", ".join(str(path) for path in paths)
            raise DataError(f"{names}: no labelled pair of language {language!r}")

    def _pairs(self, path: Path, language: str, notes: Counter[str]) -> Iterator[tuple[str, str, str]]:
        columns = [getattr(self, column) or usual for column, usual in _USUAL.items()]
        for row in tsv_rows(path, columns, header=True, optional=(self.language_column,)):
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
