"""Do a model's own vectors know which words translate each other? Error rate against gold links; nothing is trained.

Words of a pair are linked by the similarity of their contextual vectors (the aligner `similarity`: Jalili Sabet et al.
2020; Dou & Neubig 2021) and compared with links that people drew (Och & Ney 2003, section 5).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.aligners.similarity import Likeness, Similarity
from interlace.alignment import WordPairs
from interlace.alignment.agreement import Agreement, agreement_by_pair
from interlace.alignment.formats import FORMATS, GoldAlignments, read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.core.errors import DataError
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import Scale, Task
from interlace.tasks._files import FileQuery, Files, find, find_parts
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import log_notes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.text import TextPairs

log = logging.getLogger(__name__)

_DOUBTFUL = 0.01  # share of links beyond a side's end: people's slips are rarer


@dataclass(frozen=True)
class GoldPairs:
    """Pairs whose links are known. sure, possible: n rows of (source word, target word)."""

    pairs: WordPairs
    sure: Ragged
    possible: Ragged

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) words of both sides."""
        return np.asarray(self.pairs.source.lengths + self.pairs.target.lengths, np.int64)


class WordAlignment(Likeness, Task):
    """Alignment error rate in percent, lower is better; all links of the set are counted together."""

    metric: ClassVar[str] = "aer"
    also: ClassVar[tuple[str, ...]] = ()
    greater_is_better: ClassVar[bool] = False
    others: ClassVar[dict[str, Scale]] = dict.fromkeys(("precision", "recall", "f1"), ("%", True))

    source: str = Field("en", description="The language of the source words; the other one is the language asked for.")
    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}.tok",
        description="The words that the links count, under the data root: plain or numbered lines, a file a side "
        "({language} is the source for one and the target for the other; or a list of both), or 'source ||| target', "
        "JSON lines or GIZA++'s in one file.",
    )
    gold: Files = Field(
        "parallel/{split}.{source}-{target}.links",
        description="The links that people drew: Pharaoh's lines (p or ? marks possible ones), numbered lines, WPT, "
        "JSON lines, GIZA++.",
    )
    base: Literal[0, 1] | None = Field(
        None,
        description="From what the links count words; none: it is found out from the lengths of sentences, and told.",
    )
    format: str | None = Field(
        None, description=f"Format of the links; none: by what the file looks like ({', '.join(FORMATS)})."
    )
    method: Literal["argmax", "itermax", "match", "softmax"] = Field(
        "argmax",
        description="'argmax': each other's most similar; 'itermax': that repeated; 'match': the best one-to-one "
        "assignment (Jalili Sabet et al. 2020, section 2.2); 'softmax': probability above the threshold in both "
        "directions (Dou & Neubig 2021, section 2.1).",
    )

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Any:  # noqa: ARG002 - words, not subwords
        """The pairs with their links, `language` as the target; links beyond a sentence are counted and left out."""
        if language == self.source:
            raise DataError(
                f"word_alignment: {language!r} cannot be linked to itself; set another source or leave it out"
            )
        asked = FileQuery("word_alignment", split, language, root, self.source)
        text = read_gold_text(*self._sides(asked), languages=(self.source, language))
        path = find(self.gold, asked)
        gold = read_alignments(path, text.lengths, text.numbers, self.base, self.format)
        log_notes("word_alignment", path, [gold.notes, text.pairs.source.notes, text.pairs.target.notes])
        self._doubt(path, gold, asked)
        if not len(gold.possible.flat):
            raise DataError(f"word_alignment: {path}: no links to compare with")
        return GoldPairs(WordPairs.of([text.pairs]), gold.sure, gold.possible)

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Both sides; none of the source alone."""
        if language == self.source:
            return []
        sides = self._sides(FileQuery("word_alignment", split, language, root, self.source))
        return [read_gold_text(*sides, languages=(self.source, language)).pairs]

    @staticmethod
    def _doubt(path: Path, gold: GoldAlignments, asked: FileQuery) -> None:
        """Say so where so many links lead beyond their sentences that they may not be meant for them."""
        links = len(gold.possible.flat) + gold.beyond
        if gold.beyond > _DOUBTFUL * links:
            log.warning(
                "word_alignment: %s: %d of %d links (%.2g %%) lead beyond a side's end and are left out. Are the sides "
                "swapped (links are read as %s word first, then %s), or do words count from %d, not from %d ('base')?",
                path, gold.beyond, links, 100 * gold.beyond / links, asked.source, asked.of, 1 - gold.base, gold.base,
            )  # fmt: skip

    def measure(self, backbone: Backbone, vocab: Vocab, examples: GoldPairs) -> Measured:
        """`aer`, `precision`, `recall` and `f1`, in percent."""
        settings = {name: getattr(self, name) for name in ("method", *Likeness.model_fields)}
        was_training = backbone.training
        backbone.eval()
        found = Similarity(start="the model", **settings).around(backbone, vocab).align(examples.pairs)
        backbone.train(was_training)
        counts = agreement_by_pair(found.links, examples.sure, examples.possible)
        rates = Agreement(*map(int, counts.sum(axis=0)))
        scores = {name: 100 * getattr(rates, name) for name in ("aer", "precision", "recall", "f1")}
        links, sure, _, in_sure, in_possible = counts.T.astype(np.float64)
        identity = identity_of(*(part for side in (examples.sure, examples.possible) for part in _numbers(side)))
        return Measured(scores, Examples(links + sure - in_sure - in_possible, links + sure, identity))

    def _sides(self, asked: FileQuery) -> list[Path]:
        """The file of both sides, or one of each."""
        parts = find_parts(self.files, asked, self.source)
        if len(parts) == 1:
            return list(dict.fromkeys(find(self.files, asked, side) for side in (self.source, asked.of)))
        if len(parts) > 2 or any(part.rows for part in parts):
            raise DataError(
                f"word_alignment: {parts[0].path} ..: the links count whole files: one of both sides, or one of each, "
                "without rows '[a:b]'"
            )
        return [part.path for part in parts]


def _numbers(links: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of links as rows of numbers, by which they are known again."""
    return np.asarray(links.lengths, np.int64), np.asarray(links.flat, np.int64).ravel()
