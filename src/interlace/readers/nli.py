"""Natural language inference as tables: XNLI, its machine translations, MultiNLI and SICK, others by their columns."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from interlace.core.display import listed
from interlace.readers import Reader
from interlace.readers.common.text import chunks_with_notes, columns_of, expect, plain, tsv_rows
from interlace.text import TextPairs

LABELS = ("entailment", "neutral", "contradiction")
_SYNONYMS = {"contradictory": "contradiction"}  # in XNLI's machine-translated training files
_UNDECIDED = "-"  # the annotators did not agree
_USUAL = {  # names of XNLI and MultiNLI, of XNLI's machine translations, and of SICK
    "premise": ("sentence1", "premise", "sentence_A"),
    "hypothesis": ("sentence2", "hypo", "hypothesis", "sentence_B"),
    "label": ("gold_label", "label", "entailment_judgment"),
}


def _column(name: str) -> Any:
    usual = ", ".join(_USUAL[name])
    return Field(None, description=f"Column of the {name}; default: the first present of {usual}.")


class Nli(Reader):
    """Premise and hypothesis as the two sides of pairs in one language, labelled entailment, neutral, contradiction.

    Pairs without a majority label (`-`) are left out and counted. Labels are compared without case.
    """

    premise: str | None = _column("premise")
    hypothesis: str | None = _column("hypothesis")
    label: str | None = _column("label")
    language_column: str = Field(
        "language", description="Column of the language; rows of other languages are skipped."
    )
    word_tokenizer: str = Field(
        "whitespace", description="Word tokenizer (an entry of that registry)."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; both sides of the pairs are in the one language."""
        expect(
            "nli",
            "files of one language",
            paths,
            languages,
            fits=bool(paths) and len(languages) == 1,
        )
        language = languages[0]
        empty = f"{listed(paths)}: no labelled pair of language {language!r}"
        for chunk, notes in chunks_with_notes(paths, partial(self._pairs, language), empty):
            premises, hypotheses, labels = columns_of(chunk)
            yield plain(
                (premises, hypotheses), (language, language), self.word_tokenizer, labels, notes
            )

    def _pairs(
        self, language: str, path: Path, notes: Counter[str]
    ) -> Iterator[tuple[str, str, str]]:
        columns = [getattr(self, column) or usual for column, usual in _USUAL.items()]
        for row in tsv_rows(path, columns, header=True, optional=(self.language_column,)):
            premise, hypothesis, label, row_language = row.cells
            if row_language and row_language != language:
                continue
            name = label.strip().lower()
            name = _SYNONYMS.get(name, name)
            if name == _UNDECIDED:
                notes["pairs without a majority label left out"] += 1
            elif name not in LABELS:
                raise row.error(
                    f"label {label!r}, expected one of {', '.join(LABELS)} (or {_UNDECIDED!r}: left out)"
                )
            else:
                yield premise, hypothesis, name
