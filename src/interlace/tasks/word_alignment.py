"""Word alignment from contextual vectors: alignment error rate against gold alignments. Nothing is trained.

Words are aligned by the similarity of their contextual vectors (the aligner `similarity`: Jalili Sabet et al. 2020;
Dou & Neubig 2021) and compared with manual alignments (Och & Ney 2003, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from interlace.aligners.similarity import Similarity, SimilaritySettings
from interlace.alignment import WordPairs
from interlace.alignment.agreement import Agreement, agreement_by_pair
from interlace.alignment.formats import FORMATS, read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.ragged import IntArray, Ragged
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import ProbeTask, Scores
from interlace.tasks.common.files import (
    Chunks,
    FileQuery,
    Files,
    find_file,
    find_parts,
    log_notes,
)
from interlace.tasks.common.prediction import inference

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.text import TextPairs


@dataclass(frozen=True)
class GoldPairs:
    """Sentence pairs with gold alignments. sure, possible: n rows of (source word, target word)."""

    pairs: WordPairs
    sure: Ragged
    possible: Ragged

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> IntArray:
        """(n,) words of both sides."""
        return np.asarray(self.pairs.source.lengths + self.pairs.target.lengths, np.int64)


class WordAlignment(SimilaritySettings, ProbeTask):
    """Alignment error rate in percent, lower is better, over all links of the set."""

    metric = "aer"
    greater_is_better = False
    other_scales = dict.fromkeys(
        ("precision", "recall", "f1"),
        ("%", True),
    )

    source: str = Field(
        "en",
        description="The language of the source words; the target is the scored language.",
    )
    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}.tok",
        description="The aligned words, under the data root: plain or numbered lines, a file per side ({language} is "
        "the source for one and the target for the other; or a list of both), or 'source ||| target' or JSON lines in "
        "one file.",
    )
    gold: Files = Field(
        "parallel/{split}.{source}-{target}.links",
        description="The gold alignments: Pharaoh lines (p or ? marks possible links), numbered lines, WPT, JSON "
        "lines.",
    )
    base: Literal[0, 1] | None = Field(
        None,
        description="Number of a sentence's first word; none: detected from sentence lengths, and logged.",
    )
    format: str | None = Field(
        None,
        description=f"Format of the alignments; none: detected ({', '.join(FORMATS)}).",
    )
    method: Literal["argmax", "itermax", "softmax"] = Field(
        "argmax",
        description="'argmax': mutually most similar words; 'itermax': that repeated (Jalili Sabet et al. 2020, "
        "section 2.2); 'softmax': probability above the threshold in both directions (Dou & Neubig 2021, section 2.1).",
    )

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> GoldPairs:  # noqa: ARG002
        """Read the pairs with their alignments but links beyond a sentence; raise a DataError without links."""
        query = self.query(split, language, root).require_pair()
        text = read_gold_text(*self._sides(query), languages=(self.source, language))
        path = find_file(self.gold, query)
        gold = read_alignments(path, text.lengths, text.numbers, self.base, self.format)
        log_notes(self.name, path, gold.notes, text.pairs.source.notes, text.pairs.target.notes)
        if not len(gold.possible.flat):
            raise DataError(f"{self.name}: {path}: no links to compare with")
        return GoldPairs(WordPairs.of([text.pairs]), gold.sure, gold.possible)

    def read_chunks(self, query: FileQuery) -> Chunks[TextPairs]:
        """Read both sides."""
        paths = self._sides(query)
        return [
            (paths[0], read_gold_text(*paths, languages=(query.source, query.language)).pairs)
        ]

    def measure(self, backbone: Backbone, vocab: Vocab, examples: GoldPairs) -> Scores:
        """Return `aer`, `precision`, `recall` and `f1`, in percent."""
        settings = {
            name: getattr(self, name) for name in ("method", *SimilaritySettings.model_fields)
        }
        with inference(backbone):
            aligner = Similarity(start="the model", standardize=False, **settings)
            alignments = aligner.with_backbone(backbone, vocab).align(examples.pairs)
        counts = agreement_by_pair(alignments.links, examples.sure, examples.possible)  # (n, 5)
        agreement = Agreement(*map(int, counts.sum(axis=0)))
        metrics = {
            name: 100 * getattr(agreement, name)
            for name in ("aer", "precision", "recall", "f1")
        }
        links, sure, _, in_sure, in_possible = counts.T.astype(np.float64)
        weight = links + sure
        errors = weight - in_sure - in_possible
        gold = (
            examples.sure.lengths,
            examples.sure.flat,
            examples.possible.lengths,
            examples.possible.flat,
        )
        return Scores(metrics, Examples(errors, weight, identity_of(*gold)))

    def _sides(self, query: FileQuery) -> list[Path]:
        """Return the file of both sides, or one of each."""
        parts = find_parts(self.files, query, self.source)
        if len(parts) == 1:
            paths = [
                find_file(self.files, query, side) for side in (self.source, query.language)
            ]
            return list(dict.fromkeys(paths))
        if len(parts) > 2 or any(part.rows for part in parts):
            raise DataError(
                f"{self.name}: {parts[0].path} ..: expected whole files, one of both sides or one of each, without "
                "rows '[a:b]': links are numbered by sentence"
            )
        return [part.path for part in parts]
