"""Offline back-translation: monolingual text and its translations by a run, as a parallel corpus.

Another model learns to translate from the synthetic side to the real one (Sennrich et al. 2016). A tag before each
synthetic sentence marks it (Caswell et al. 2019).
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, field_validator

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.names import file_in
from interlace.core.progress import Progress, no_progress
from interlace.core.settings import Settings
from interlace.data.filters import FilterChain, build_filters
from interlace.experiments.translation import LineRange, LineTranslator, kept_windows
from interlace.models.settings import SearchSettings
from interlace.readers.common.text import plain
from interlace.text.lines import writing
from interlace.text.word_tokenizers import WordTokenizerName
from interlace.training.run_folder import write_json

BACK_TRANSLATED = "back-translated.json"


class BackTranslationSettings(Settings):
    """How text is back-translated, and which pairs are kept."""

    search: SearchSettings = Field(default_factory=SearchSettings, description="Search of translations.")
    tag: str = Field(
        "",
        description="A word before each synthetic sentence, such as '<BT>' (Caswell et al. 2019). It is "
        "ordinary text: a few tokens, where the paper reserves one; lower-cased with the text.",
    )
    filters: dict[str, dict[str, Any]] = Field(
        {"ratio": {"unit": "characters"}, "identical": {"min_words": 3}},
        description="Filters of pairs, applied in order: see `interlace list filters`. The real side is the source.",
    )
    unfinished: bool = Field(False, description="Keep translations of maximum length, which are often cut.")
    word_tokenizer: WordTokenizerName = Field("unicode", description="Word tokenizer of the filters.")
    window: int = Field(
        2000,
        ge=1,
        description="Lines read before they are translated; larger windows give batches of more even length.",
    )

    @field_validator("tag")
    @classmethod
    def _is_word(cls, tag: str) -> str:
        if tag.split() != [tag] * bool(tag):
            raise SettingsError(f"tag {tag!r}: expected one word without spaces")
        return tag

    def model_post_init(self, _context: Any) -> None:
        """Check that the filters exist."""
        build_filters(self.filters)


def back_translate(
    translator: LineTranslator,
    text: LineRange,
    into: Path,
    settings: BackTranslationSettings,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Write `train.LANGUAGE` for both languages into a folder; return the counts of kept and dropped pairs.

    Args:
        translator: from the language of the text.
        text: a shard of a file; its sentences become the real side. The results of all shards, joined in order, are
            those of the whole file, except for filters that compare pairs.
        into: the folder.
        settings: of translation and filters.
        progress: called with a description, the number of lines done and the total.

    Raises:
        DataError: the text cannot be read, the folder holds other files, or no pair is left.
    """
    must_be_replaceable(into, BACK_TRANSLATED, "corpus of back-translations")
    source, target = translator.translator.source, translator.translator.target
    counts: Counter[str] = Counter(pairs=0)
    chain = FilterChain(build_filters(settings.filters))
    prefix = f"{settings.tag} " if settings.tag else ""
    done = 0
    with kept_windows(into) as keep, atomic_folder(into) as folder:
        with (
            writing(file_in(folder, f"train.{source}")) as write,
            writing(file_in(folder, f"train.{target}")) as write_made,
        ):
            for window in translator.windows(text, settings.window, text.first, keep):
                real, made = window.lines, [one.text for one in window.translations]
                full = np.array([bool(line.strip() and row.strip()) for line, row in zip(real, made, strict=True)])
                ended = np.array([settings.unfinished or not one.full for one in window.translations])
                pairs = plain((real, made), (source, target), settings.word_tokenizer)
                kept = np.flatnonzero(chain.keep(pairs, full & ended)).tolist()
                counts.update(empty=int((~full).sum()), unfinished=int((full & ~ended).sum()), pairs=len(kept))
                write(real[row].strip() for row in kept)
                write_made(prefix + made[row].strip() for row in kept)
                done += len(window)
                progress("translating", done, len(text))
        counts.update(chain.dropped)
        if not counts["pairs"]:
            why = ", ".join(f"{count:,} dropped by {rule}" for rule, count in counts.items() if count)
            raise DataError(f"{text.path}: no pair is left: {why}")
        about = {"from": source, "to": target, "pairs": counts.pop("pairs"), "dropped": dict(counts)}
        write_json(folder / BACK_TRANSLATED, {**about, "settings": settings.dump()})
    return about
