"""Natural language inference as tables: XNLI, its machine translations, MultiNLI and SICK."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from interlace.core.errors import DataError
from interlace.readers.common.text import RowReader, tsv_rows

LABELS = ("entailment", "neutral", "contradiction")
_SYNONYMS = {"contradictory": "contradiction"}  # in XNLI's machine-translated training files
_UNDECIDED = "-"  # the annotators did not agree
_COLUMNS = (  # names of XNLI and MultiNLI, of XNLI's machine translations, and of SICK
    ("sentence1", "premise", "sentence_A"),
    ("sentence2", "hypo", "hypothesis", "sentence_B"),
    ("gold_label", "label", "entailment_judgment"),
)


class Nli(RowReader):
    """Premise and hypothesis as the two sides of pairs in one language, labelled entailment, neutral, contradiction.

    Rows of other languages, by the column `language`, are skipped. Pairs without a majority label (`-`) are left out
    and counted. Labels are compared without case.
    """

    language_counts = (1,)

    @property
    def has_labels(self) -> bool:
        """Whether rows end with a label."""
        return True

    def rows(
        self, languages: list[str], path: Path, notes: Counter[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield premise, hypothesis and label of each labelled pair in the language."""
        for number, cells in tsv_rows(path, _COLUMNS, optional="language"):
            premise, hypothesis, label, row_language = cells
            if row_language not in {"", *languages}:
                continue
            name = label.strip().lower()
            name = _SYNONYMS.get(name, name)
            if name == _UNDECIDED:
                notes["pairs without a majority label left out"] += 1
            elif name in LABELS:
                yield premise, hypothesis, name
            else:
                raise DataError(
                    f"{path}, line {number}: label {label!r}, expected one of {', '.join(LABELS)}"
                )
