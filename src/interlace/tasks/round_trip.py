"""Round-trip translation: BLEU of text translated and translated back, against the text. No references are needed.

Lample et al. (2018a) choose models of unsupervised translation by it. It is no measure of translation by itself: copies
come back perfectly, so the share of copied text is scored too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.tasks.common.files import FileQuery, Files, ReaderSettings, log_notes
from interlace.tasks.common.translation import SourceLines, TextMetric, TranslationTask, chrf
from interlace.text import Text

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

MAX_SENTENCES = 1000  # the first lines that hold text


class RoundTrip(TranslationTask):
    """BLEU of text after a round trip; `targets` are the first directions, such as `["en-de", "de-en"]`."""

    metric = "round-trip bleu"
    other_scales = {
        "round-trip chrf": ("chrF", True),
        **TranslationTask.other_scales,
    }
    text_type = Text

    files: Files = Field(
        "text/{split}.{language}.txt",
        description="Plain text under the data root: a pattern, or patterns by split or 'test.de'. {language} is the "
        "one that is translated from, and back into.",
    )
    reader: ReaderSettings = Field(
        "lines",
        description="Reader of the files, such as 'lines' or 'tsv'.",
    )

    def query(self, split: str, language: str, root: Root) -> FileQuery:
        """Return what to look for in `files`: text in the language that is translated from."""
        return FileQuery(self.name, split, self.direction(language).source, root)

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> SourceLines:
        """Read the lines that hold text; others are counted and left out."""
        direction = self.checked_direction(language)
        chunks = self.read_chunks(self.query(split, language, root))
        lines = [line for _, text in chunks for line in text.lines]
        kept = [line for line in lines if line.strip()]
        log_notes(
            self.name, chunks[0][0], {"lines without text left out": len(lines) - len(kept)}
        )
        if not kept:
            raise DataError(f"{self.name}: {chunks[0][0]}: no line holds text")
        kept = kept[:MAX_SENTENCES]
        return SourceLines(
            direction,
            kept,
            kept,
            vocab.encode(kept, language=direction.source).lengths,
        )

    def compare(
        self,
        examples: SourceLines,
        outputs: list[str],  # noqa: ARG002
        back: list[str],
    ) -> dict[str, TextMetric]:
        """Compare the text that came back with the original text."""
        right = self.normalized(examples.sources, examples.direction.source)
        letters = self.signed(chrf(back, right, lower_case=self.lower_case))
        return {
            "round-trip bleu": self.round_trip_bleu(examples, back),
            "round-trip chrf": letters,
        }
