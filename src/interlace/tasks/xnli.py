"""Cross-lingual natural language inference (Conneau et al. 2018): does a premise entail a hypothesis?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from interlace.tasks._files import FileQuery, Files
from interlace.tasks._pair_classes import PairTask, read_pairs

if TYPE_CHECKING:
    from interlace.tasks._pair_classes import Chunks

LABELS = ("entailment", "neutral", "contradiction")


class Xnli(PairTask):
    """Accuracy over pairs, in percent; premise and hypothesis stand in one row, the longer one is cut first.

    The reader leaves out pairs without a label and counts them.
    """

    called: ClassVar[str] = "xnli"
    labels: ClassVar[tuple[str, ...]] = LABELS

    files: Files = Field(
        "nli/{split}.{language}.tsv",
        description="NLI tables under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: dict[str, Any] | str = Field("nli", description="What reads the files; its settings name other columns.")

    def pairs(self, asked: FileQuery) -> Chunks:
        """Premises and hypotheses."""
        return read_pairs(self.files, asked, self.reader, [asked.of])
