"""Natural language inference as tables: XNLI, its machine translations, MultiNLI and SICK."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.readers import TokenizingReader
from interlace.readers.common.text import chunks_with_notes, columns_of, expect, plain, tsv_rows
from interlace.text import TextPairs

LABELS = ("entailment", "neutral", "contradiction")
_SYNONYMS = {"contradictory": "contradiction"}  # in XNLI's machine-translated training files
_UNDECIDED = "-"  # the annotators did not agree
_COLUMNS = (  # names of XNLI and MultiNLI, of XNLI's machine translations, and of SICK
    ("sentence1", "premise", "sentence_A"),
    ("sentence2", "hypo", "hypothesis", "sentence_B"),
    ("gold_label", "label", "entailment_judgment"),
)


class Nli(TokenizingReader):
    """Premise and hypothesis as the two sides of pairs in one language, labelled entailment, neutral, contradiction.

    Rows of other languages, by the column `language`, are skipped. Pairs without a majority label (`-`) are left out
    and counted. Labels are compared without case.
    """

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; both sides of the pairs are in the one language."""
        expect(self, paths, languages, 1)
        language = languages[0]
        empty = f"{listed(paths)}: no labelled pair of language {language!r}"
        for chunk, notes in chunks_with_notes(paths, partial(_pairs, language), empty):
            *sides, labels = columns_of(chunk)
            yield plain(sides, (language, language), self.word_tokenizer, labels, notes)


def _pairs(language: str, path: Path, notes: Counter[str]) -> Iterator[tuple[str, str, str]]:
    for number, cells in tsv_rows(path, _COLUMNS, optional=("language",)):
        premise, hypothesis, label, row_language = cells
        if row_language and row_language != language:
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
