"""Paraphrase identification (PAWS-X, Yang et al. 2019): do two sentences of similar words have the same meaning?"""

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.tasks.common.classification import PairClassificationTask
from interlace.tasks.common.files import Chunks, FileQuery, Files, ReaderSettings, log_notes

_UNTRANSLATED = "NS"  # in dev and test files, a sentence without a translation


class Pawsx(PairClassificationTask):
    """Accuracy over pairs, in percent; pairs with an untranslated sentence (`NS`) are left out, as in the paper."""

    labels: ClassVar[tuple[str, ...]] = ("0", "1")  # 1: paraphrases

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

    def read_chunks(self, query: FileQuery) -> Chunks[Any]:
        """Read the pairs of which both sentences are translated; raise a DataError if there is none."""
        found, chunks = [], super().read_chunks(query)
        for path, chunk in chunks:
            sides = zip(chunk.source.lines, chunk.target.lines, strict=True)
            translated = np.array([_UNTRANSLATED not in {first.strip(), second.strip()} for first, second in sides])
            log_notes(
                self.name, path, {f"pairs without a translation ({_UNTRANSLATED}) left out": int((~translated).sum())}
            )
            if translated.any():
                found.append((path, chunk.where(translated)))
        if not found:
            raise DataError(f"{self.name}: {chunks[0][0]}: no pair is translated, all hold {_UNTRANSLATED!r}")
        return found
