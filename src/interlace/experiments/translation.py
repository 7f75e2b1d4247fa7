"""Translate lines with trained models, and offline back-translation.

Back-translation makes a parallel corpus of monolingual text and its translations, from which another model learns to
translate from the synthetic side to the real one (Sennrich et al. 2016). A tag before each synthetic sentence marks it
(Caswell et al. 2019).
"""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder, check_contents, must_be_replaceable
from interlace.core.json_files import JsonObject, read_json, write_json
from interlace.core.names import file_in
from interlace.core.outputs import is_stream
from interlace.core.progress import Progress, no_progress
from interlace.core.ragged import BoolArray
from interlace.core.settings import Settings
from interlace.data.cache import code_hash, content_key
from interlace.data.filters import FilterChain, build_filters
from interlace.data.vocab import Vocab
from interlace.experiments.evaluate import target_of
from interlace.models.checkpoint_files import CONFIG, find_checkpoint
from interlace.models.settings import SearchSettings
from interlace.models.translator import LineTranslation
from interlace.readers.common.text import plain
from interlace.text.lines import count_lines, read_lines, writing

log = logging.getLogger(__name__)

BACK_TRANSLATED = "back-translated.json"
LINES = 2000  # of a window; more give batches of more even length
_NO_DECODER = (
    "this model has no decoder; translation needs an encoder-decoder, which the objective 'translation' trains "
    "(recipe tiny/mt)"
)


class LineTranslator:
    """Translates raw lines in one direction with a trained model."""

    def __init__(
        self,
        name: str,
        source: str,
        target: str,
        search: SearchSettings | None = None,
        *,
        force: bool = False,
        tokens: int | None = None,
        precision: str = "no",
    ) -> None:
        """Load the model of a finished run, or of a model folder.

        force: also translate directions that the model was not trained in. tokens: maximum padded source tokens in a
        batch, times the beam size; None: see `Translator`. precision: `"no"` (float32), `"bf16"`, or `"auto"` (bf16
        where the hardware supports it). Raise a SettingsError if the model has no decoder or was not trained in the
        direction.
        """
        from interlace.models.build import load
        from interlace.models.seq2seq import Seq2Seq
        from interlace.models.translator import Translator
        from interlace.training.device import accelerator_for

        trained_model = target_of(name, into=Path(name))
        self._folder = trained_model.model
        metadata = trained_model.metadata
        if metadata is not None and not force:
            metadata.check_direction(source, target)
        self._accelerator = accelerator_for(precision)
        self._normalization = None
        max_length = None
        if metadata is not None:
            self._normalization = metadata.normalization
            max_length = metadata.max_source_lengths.get(f"{source}-{target}")
        vocab = Vocab.load(self._folder)
        model: Any = load(self._folder, vocab)
        if not isinstance(model, Seq2Seq):
            raise SettingsError(f"{name}: {_NO_DECODER}")
        model = model.to(self._accelerator.device)
        self.translator = Translator(
            model, vocab, source, target, search, tokens=tokens, max_length=max_length
        )

    def windows(
        self,
        lines: Iterable[str],
        size: int = LINES,
        stored: Path | None = None,
    ) -> Iterator[Window]:
        """Yield translations of `size` lines at a time; only one window is in memory.

        stored: a folder of `stored_windows`: windows that it has are not translated again, the others are added.
        """
        lines = iter(lines)
        while window := list(islice(lines, size)):
            if stored is None:
                translations = self._translated(window)
            else:
                content = json.dumps([self._key, window]).encode()
                path = stored / f"{blake2b(content, digest_size=16).hexdigest()}.json"
                translations = _stored_translations(path)
                if len(translations) != len(window):
                    translations = self._translated(window)
                    write_json(path, [asdict(translation) for translation in translations])
            yield Window(window, translations)

    def _translated(self, lines: list[str]) -> list[LineTranslation]:
        if self._normalization is not None:
            lines = self._normalization.lines(lines, self.translator.source)
        with self._accelerator.autocast():
            return self.translator.lines(lines)

    @cached_property
    def _key(self) -> list[Any]:
        """Everything that translations depend on except the lines."""
        translator = self.translator
        folder = find_checkpoint(self._folder)
        files = [*sorted(folder.rglob("*.safetensors")), folder / CONFIG]
        normalization = None
        if self._normalization is not None:
            normalization = self._normalization.dump()
        return [
            [content_key(path) for path in files],
            code_hash("models", "text"),
            translator.vocab.fingerprint,
            [translator.source, translator.target, translator.max_length],
            [translator.vocab.frame(translator.source), translator.prefix],
            normalization,
            [translator.settings.dump(), self._accelerator.mixed_precision],
        ]


def _stored_translations(path: Path) -> list[LineTranslation]:
    """Return the translations of a stored window; none if they are missing or damaged."""
    try:
        return list(read_json(path, list[LineTranslation], []))
    except DataError:
        return []


@contextmanager
def stored_windows(output: Path | None) -> Iterator[Path | None]:
    """Yield the folder beside an output in which translated windows are stored until the output is complete.

    So the same command resumes after an interruption. Without an output, or if it is a pipe or a device, there is none.
    Raise a DataError if the folder holds other files.
    """
    if output is None or is_stream(output):
        yield None
        return
    folder = output.with_name(f".{output.name}.windows")
    if folder.is_dir():
        check_contents(
            folder, [f"{'[0-9a-f]' * 32}.json"], "translations of an interrupted command"
        )
        log.info("%s: using the translations of an interrupted command", output)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Window:
    """Consecutive lines and their translations."""

    lines: list[str]
    translations: list[LineTranslation]

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def sides(self) -> tuple[list[str], list[str]]:
        """The lines and their translations, without blanks around them."""
        lines = [line.strip() for line in self.lines]
        return lines, [translation.text.strip() for translation in self.translations]

    def counts(self) -> dict[str, int]:
        """Count lines with unknown tokens, lines translated in pieces, and translations of maximum length."""
        return {
            "unknown": sum(translation.unknown > 0 for translation in self.translations),
            "pieces": sum(translation.pieces > 1 for translation in self.translations),
            "full": sum(translation.full for translation in self.translations),
        }


class BackTranslationSettings(Settings):
    """How text is back-translated, and which pairs are kept."""

    search: SearchSettings = Field(
        default_factory=SearchSettings, description="Search of translations."
    )
    tag: str = Field(
        "",
        pattern=r"^[^\s\p{C}]*$",
        description="A word before each synthetic sentence, such as '<BT>' (Caswell et al. 2019). It is "
        "ordinary text: a few tokens, where the paper reserves one; lower-cased with the text.",
    )
    filters: dict[str, JsonObject] = Field(
        {"ratio": {"unit": "characters"}, "identical": {"min_words": 3}},
        description="Filters of pairs, applied in order: see `interlace list filters`. The real side is the source.",
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the filters exist."""
        build_filters(self.filters)


def back_translate(
    translator: LineTranslator,
    text: Path,
    into: Path,
    settings: BackTranslationSettings,
    progress: Progress = no_progress,
) -> JsonObject:
    """Write `train.LANGUAGE` for both languages into a folder; return the counts of kept and dropped pairs.

    Translations of maximum length, which are often cut, are dropped before the filters.

    translator: from the language of the text. text: a file, whose sentences become the real side.
    settings: of translation and filters. progress: called with a description, the number of lines done and the total.
    Raise a DataError if no pair is left, or the folder holds other files.
    """
    must_be_replaceable(
        into,
        BACK_TRANSLATED,
        "corpus of back-translations",
        ["train.*"],
    )
    source = translator.translator.source
    target = translator.translator.target
    prefix = f"{settings.tag} " if settings.tag else ""
    chain = FilterChain(build_filters(settings.filters))
    dropped = Counter(empty=0, unfinished=0)
    pairs = 0
    done = 0
    total = count_lines(text)
    with stored_windows(into) as stored, atomic_folder(into) as folder:
        real_path = file_in(folder, f"train.{source}")
        synthetic_path = file_in(folder, f"train.{target}")
        with writing(real_path) as write_real, writing(synthetic_path) as write_synthetic:
            for window in translator.windows(read_lines(text), stored=stored):
                real, synthetic = window.sides
                is_finished = _finished(window, dropped)
                sides = plain((real, synthetic), (source, target), "unicode")
                rows = np.flatnonzero(chain.keep(sides, is_finished)).tolist()
                write_real(real[row] for row in rows)
                write_synthetic(prefix + synthetic[row] for row in rows)
                pairs += len(rows)
                done += len(window)
                progress("translating", done, total)
        dropped.update(chain.dropped)
        if not pairs:
            raise DataError(f"{text}: no pair is left; dropped: {dict(dropped)}")
        about = {"from": source, "to": target, "pairs": pairs, "dropped": dict(dropped)}
        write_json(folder / BACK_TRANSLATED, {**about, "settings": settings.dump()})
    return about


def _finished(window: Window, dropped: Counter[str]) -> BoolArray:
    """Return (lines,) which pairs have two sides and a finished translation; count the others."""
    is_finished = np.ones(len(window), np.bool_)
    for row, (real, synthetic) in enumerate(zip(*window.sides, strict=True)):
        if not (real and synthetic):
            dropped["empty"] += 1
            is_finished[row] = False
        elif window.translations[row].full:
            dropped["unfinished"] += 1
            is_finished[row] = False
    return is_finished
