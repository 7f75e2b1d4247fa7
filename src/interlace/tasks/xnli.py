"""Cross-lingual natural language inference (Conneau et al. 2018): does a premise entail a hypothesis?"""

from pydantic import Field

from interlace.tasks.common.classification import PairClassificationTask
from interlace.tasks.common.files import Files, ReaderSettings

LABELS = ("entailment", "neutral", "contradiction")


class Xnli(PairClassificationTask):
    """Accuracy over pairs, in percent; the reader leaves out pairs without a label and counts them."""

    labels = LABELS

    files: Files = Field(
        "nli/{split}.{language}.tsv",
        description="NLI tables under the data root: a pattern, or patterns by split or 'test.de'.",
    )
    reader: ReaderSettings = Field(
        "nli",
        description="Reader of the files; its settings name other columns.",
    )
