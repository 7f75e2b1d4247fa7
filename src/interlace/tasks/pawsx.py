"""Paraphrase identification (PAWS-X, Yang et al. 2019): do two sentences of similar words have the same meaning?"""

from pydantic import Field

from interlace.tasks.common.classification import PairClassificationTask
from interlace.tasks.common.files import FileQuery, Files, ReaderSettings

_UNTRANSLATED = "NS"  # in dev and test files, a sentence without a translation


class Pawsx(PairClassificationTask):
    """Accuracy over pairs, in percent; pairs with an untranslated sentence (`NS`) are left out, as in the paper."""

    labels = ("0", "1")  # 1: paraphrases
    unreadable = f"an empty or untranslated ({_UNTRANSLATED}) sentence"

    files: Files = Field(
        "pawsx/{split}-{language}.tsv",
        description="Tables under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: ReaderSettings = Field(
        {"name": "tsv", "columns": [0, 1], "label": 2, "header": False},
        description="Reader of the files: two columns of text and one of labels, by number from 0 (XTREME's files) or "
        "by name where there is a header (the authors' files: sentence1, sentence2, label).",
    )

    def reader_languages(self, query: FileQuery) -> list[str]:
        """Return the language twice, once for each column."""
        return [query.language] * 2

    def is_readable(self, split: str, *sentences: str) -> bool:
        """Return whether both sentences are translated."""
        return super().is_readable(split, *sentences) and _UNTRANSLATED not in map(
            str.strip,
            sentences,
        )
