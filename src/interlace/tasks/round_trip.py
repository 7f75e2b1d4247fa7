"""Round-trip BLEU: text translated and translated back, beside what it was. It needs no translation by people.

Lample et al. (2018a) choose models of unsupervised translation by it. By itself it is no measure of translation: copies
come back perfectly, so the share that is copied stands beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError
from interlace.scores.examples import Examples, identity_of
from interlace.tasks._bleu import chrf, copied
from interlace.tasks._files import FileQuery, Files, find_parts
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import log_notes, read_parts
from interlace.tasks._translating import Sources, Translating, in_pieces, samples_of, writer
from interlace.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.tasks import Scale


class RoundTrip(Translating):
    """BLEU of text after a round trip; `targets` are the ways there, such as `["en-de", "de-en"]`."""

    metric: ClassVar[str] = "round-trip bleu"
    also: ClassVar[tuple[str, ...]] = ()
    others: ClassVar[dict[str, Scale]] = {
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
    reader: dict[str, Any] | str = Field("lines", description="What reads the files, such as 'lines' or 'tsv'.")
    max_sentences: int | None = Field(
        1000, ge=1, description="Lines that are translated, the first ones that hold text; none: all."
    )

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Any:
        """The lines that hold text; others are counted and left out."""
        direction = self.between_two(language)
        texts = self.texts(split, language, root)
        lines = [line for text in texts for line in text.lines]
        kept = [line for line in lines if line.strip()]
        (first, *_) = self._parts(split, language, root)
        log_notes("round_trip", first, [{"lines without text left out": len(lines) - len(kept)}])
        if not kept:
            raise DataError(f"round_trip: {first}: no line holds text")
        kept = kept[: self.max_sentences]
        return Sources(direction, kept, vocab.encode(kept, language=direction.source).lengths)

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """Those of the language that is translated from."""
        return self._parts(split, language, root)

    def texts(self, split: str, language: str, root: Path) -> list[Text]:
        """The lines."""
        parts, source = find_parts(self.files, self._asked(split, language, root)), self.direction(language).source
        return read_parts("round_trip", self.reader, parts, [source], Text)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Sources) -> Measured:
        """Scores of what came back, 0 to 100, with signatures; what is copied is in percent of what was written.

        Raises:
            SettingsError: the model only reads. DataError: it was not made for one of the languages.
        """
        model, direction, sources = writer(backbone, "round_trip"), examples.direction, examples.sources
        found = self._said(model, vocab, direction, sources)
        outputs = [one.text for one in found]
        main, said = self._came_back(model, vocab, direction.back, outputs, sources)
        right = self._rewritten(sources, direction.source)
        letters = chrf(said, right, lower_case=self.lower_case)
        lines, words = copied(outputs, sources)
        scores = {
            "round-trip bleu": main.value,
            "round-trip chrf": letters.value,
            "copied lines": 100 * float(lines.mean()),
            "copied words": 100 * float(words.mean()),
            "in pieces": in_pieces(found),
        }
        signatures = {
            "round-trip bleu": self._signed(main.signature),
            "round-trip chrf": self._signed(letters.signature),
        }
        got = Examples(letters.sentences / 100, np.ones(len(said)), identity_of(sources), main.counts, measure="bleu")
        some = samples_of(np.argsort(got.score, kind="stable"), outputs, sources, said)
        return Measured(scores, got, {"signatures": signatures}, outputs, some)

    def _parts(self, split: str, language: str, root: Path) -> list[Path]:
        return [part.path for part in find_parts(self.files, self._asked(split, language, root))]

    def _asked(self, split: str, language: str, root: Path) -> FileQuery:
        return FileQuery("round_trip", split, self.direction(language).source, root)
