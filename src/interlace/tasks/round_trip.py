"""Round-trip translation: BLEU of text translated and translated back, against the text. No references are needed.

Lample et al. (2018a) choose models of unsupervised translation by it. It is no measure of translation by itself: copies
come back perfectly, so the share of copied text is scored too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.scores.examples import identity_of
from interlace.tasks import Scale, Scores
from interlace.tasks.common.bleu import chrf, copied
from interlace.tasks.common.files import FileQuery, Files, find_parts
from interlace.tasks.common.reading import ReaderSettings, log_notes, read_parts
from interlace.tasks.common.translation import (
    SourceLines,
    TranslationTask,
    in_pieces,
    require_seq2seq,
    translation_scores,
)
from interlace.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


class RoundTrip(TranslationTask):
    """BLEU of text after a round trip; `targets` are the first directions, such as `["en-de", "de-en"]`."""

    metric: ClassVar[str] = "round-trip bleu"
    same_scale: ClassVar[tuple[str, ...]] = ()
    other_scales: ClassVar[dict[str, Scale]] = {
        "round-trip chrf": ("chrF", True),
        "copied lines": ("%", False),
        "copied words": ("%", False),
        "in pieces": ("%", False),
    }

    files: Files = Field(
        "text/{split}.{language}.txt",
        description="Plain text under the data root: a pattern, or patterns by split or 'test.de'. {language} is the "
        "one that is translated from, and back into.",
    )
    reader: ReaderSettings = Field("lines", description="Reader of the files, such as 'lines' or 'tsv'.")
    max_sentences: int | None = Field(
        1000, ge=1, description="Lines to translate, the first ones that hold text; none: all."
    )

    def query(self, split: str, language: str, root: Path) -> FileQuery:
        """Return what to look for in `files`: text in the language that is translated from."""
        return FileQuery(self.name, split, self.direction(language).source, root)

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> SourceLines:
        """Read the lines that hold text; others are counted and left out."""
        direction = self.checked_direction(language)
        lines = [line for text in self.texts(split, language, root) for line in text.lines]
        kept = [line for line in lines if line.strip()]
        first = self.read_files(split, language, root)[0]
        log_notes(self.name, first, [{"lines without text left out": len(lines) - len(kept)}])
        if not kept:
            raise DataError(f"{self.name}: {first}: no line holds text")
        kept = kept[: self.max_sentences]
        return SourceLines(direction, kept, vocab.encode(kept, language=direction.source).lengths)

    def texts(self, split: str, language: str, root: Path) -> list[Text]:
        """Return the lines."""
        query = self.query(split, language, root)
        return read_parts(self.name, self.reader, find_parts(self.files, query), [query.language], Text)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: SourceLines) -> Scores:
        """Return metrics of what came back, 0 to 100, with signatures; copied shares are in percent of the outputs.

        Raises:
            SettingsError: the model is an encoder. DataError: it was not trained on one of the languages.
        """
        model, direction, sources = require_seq2seq(backbone, self.name), examples.direction, examples.sources
        found = self.translate(model, vocab, direction, sources)
        outputs = [one.text for one in found]
        main, back = self.round_trip_bleu(model, vocab, direction.back, outputs, sources)
        letters = chrf(back, self.normalized(sources, direction.source), lower_case=self.lower_case)
        lines, words = copied(outputs, sources)
        metrics = {
            "round-trip bleu": main.value,
            "round-trip chrf": letters.value,
            "copied lines": 100 * float(lines.mean()),
            "copied words": 100 * float(words.mean()),
            "in pieces": in_pieces(found),
        }
        signatures = {"round-trip bleu": self.signature(main), "round-trip chrf": self.signature(letters)}
        shown = (outputs, sources, back)
        return translation_scores(metrics, signatures, main, letters, outputs, identity_of(sources), shown)
