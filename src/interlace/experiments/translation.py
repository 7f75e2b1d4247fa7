"""Translate with trained models: lines and shards of a file, and offline back-translation.

Back-translation makes a parallel corpus of monolingual text and its translations, from which another model learns to
translate from the synthetic side to the real one (Sennrich et al. 2016). A tag before each synthetic sentence marks it
(Caswell et al. 2019).
"""

from __future__ import annotations

import json
import logging
import re
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
from pydantic import Field, field_validator

from interlace.core.display import listed
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.files import atomic_folder, check_contents, must_be_replaceable
from interlace.core.json_files import read_json, write_json
from interlace.core.names import file_in
from interlace.core.outputs import is_stream
from interlace.core.progress import Progress, no_progress
from interlace.core.settings import Settings
from interlace.data.cache import code_hash, content_key
from interlace.data.filters import FilterChain, build_filters
from interlace.data.vocab import Vocab
from interlace.experiments.evaluate import target_of
from interlace.experiments.model_folder import ModelMetadata
from interlace.models.checkpoint_files import find_checkpoint
from interlace.models.settings import SearchSettings
from interlace.models.translator import LineTranslation
from interlace.readers.common.text import plain
from interlace.text.lines import count_lines, read_lines, writing
from interlace.text.word_tokenizers import WordTokenizerName
from interlace.training.run_folder import RECIPE

log = logging.getLogger(__name__)
BACK_TRANSLATED = "back-translated.json"


def translation_model(name: str) -> tuple[str, ModelMetadata | None]:
    """Return the folder (or hub name) of the model of a finished run or of a model, and what it learned, if known."""
    path = Path(name)
    _check_folder(path)
    if path.name == "model" and (path.parent / RECIPE).is_file():
        run = path.parent
    else:
        run = path
    found = target_of(str(run), into=path)
    if found.trained is None:
        return found.model, ModelMetadata.read(find_checkpoint(found.model))
    if found.trained.embeddings:
        raise SettingsError(f"{name}: holds word vectors, which cannot translate")
    if not found.trained.seq2seq:
        raise SettingsError(_no_decoder(name))
    return found.model, ModelMetadata.of(found.trained)


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
        rows: int | None = None,
        tokens: int | None = None,
        precision: str = "no",
    ) -> None:
        """Load the model of a finished run, or of a model folder.

        force: also translate directions that the model was not trained in. rows: maximum sentences in a batch; None: as
        many as `tokens` allows. tokens: maximum padded source tokens in a batch, times the beam size; None: see
        `Translator`. precision: `"no"` (float32), `"bf16"`, or `"auto"` (bf16 where the hardware supports it). Raise a
        SettingsError if the model has no decoder or was not trained in the direction.
        """
        from interlace.models.build import load
        from interlace.models.seq2seq import Seq2Seq
        from interlace.models.translator import Translator
        from interlace.training.device import accelerator_for

        self._folder, metadata = translation_model(name)
        if metadata is not None and not force:
            metadata.check_direction(source, target)
        self._normalization = None if metadata is None else metadata.normalization
        self._accelerator = accelerator_for(precision)
        vocab = Vocab.load(self._folder)
        loaded: Any = load(self._folder, vocab)
        if not isinstance(loaded, Seq2Seq):
            raise SettingsError(_no_decoder(name))
        lengths = {} if metadata is None else metadata.max_source_lengths
        self.translator = Translator(
            loaded.to(self._accelerator.device), vocab, source, target, search,
            rows=rows, tokens=tokens, max_length=lengths.get(f"{source}-{target}"),
        )  # fmt: skip
        self.source = source

    def windows(
        self, lines: Iterable[str], size: int, first: int = 0, keep: Path | None = None
    ) -> Iterator[Window]:
        """Yield translations of `size` lines at a time; only one window is in memory.

        Larger windows give batches of more even length. first: the number of the first line, from 0. keep: a folder of
        `kept_windows`: windows that it has are not translated again, the others are added.
        """
        lines = iter(lines)
        while window := list(islice(lines, size)):
            digest = blake2b(json.dumps([self._key, window]).encode(), digest_size=16).hexdigest()
            kept = None if keep is None else keep / f"{digest}.json"
            translations = _kept(kept, len(window))
            if not translations:
                if self._normalization is None:
                    text = window
                else:
                    text = self._normalization.lines(window, self.source)
                with self._accelerator.autocast():
                    translations = self.translator.lines(text)
                if kept is not None:
                    write_json(kept, [asdict(one) for one in translations])
            yield Window(first, window, translations)
            first += len(window)

    @cached_property
    def _key(self) -> list[Any]:
        """Everything that translations depend on except the lines."""
        translator = self.translator
        folder = find_checkpoint(self._folder)
        files = [*sorted(folder.rglob("*.safetensors")), folder / "config.json"]
        model = [*map(content_key, files), code_hash("models", "text")]
        direction = [translator.source, translator.target, translator.max_length]
        if self._normalization is None:
            normalization = None
        else:
            normalization = self._normalization.dump()
        search = [translator.settings.dump(), self._accelerator.mixed_precision]
        return [model, translator.vocab.fingerprint, direction, normalization, search]


def _kept(path: Path | None, lines: int) -> list[LineTranslation]:
    """Return the translations of a kept window; none if they are missing, damaged or not of all lines."""
    try:
        found: list[LineTranslation]
        if path is None:
            found = []
        else:
            found = read_json(path, list[LineTranslation], [])
    except DataError:
        return []
    return found if len(found) == lines else []


@contextmanager
def kept_windows(output: Path | None) -> Iterator[Path | None]:
    """Yield the folder beside an output in which translated windows are kept until the output is finished.

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
    """Consecutive lines, the number of the first from 0, and their translations."""

    first: int
    lines: list[str]
    translations: list[LineTranslation]

    def __len__(self) -> int:
        return len(self.lines)

    def counts(self) -> dict[str, int]:
        """Count lines with unknown tokens, lines translated in pieces, and translations of maximum length."""
        return {
            "unknown": sum(one.unknown > 0 for one in self.translations),
            "pieces": sum(one.pieces > 1 for one in self.translations),
            "full": sum(one.full for one in self.translations),
        }


@dataclass(frozen=True)
class Shard:
    """Shard `number`, from 1, `of` shards of nearly equal size; their joined results are those of the whole."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Parse `"2/4"`, the second of four shards; raise a SettingsError if the text is not a shard."""
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of:
            raise SettingsError(
                f"--shard {text!r}: expected I/N, from 1/N to N/N, such as 1/4 for the first of four"
            )
        return cls(number, of)

    def lines_of(self, path: Path) -> LineRange:
        """Return this shard of a file; raise a DataError if the file has fewer lines than there are shards."""
        total = count_lines(path)
        if total < self.of > 1:
            if total:
                what = f"{total} lines are too few for {self.of} shards"
            else:
                what = "the file is empty"
            raise DataError(f"{path}: {what}")
        return LineRange(path, total * (self.number - 1) // self.of, total * self.number // self.of)


@dataclass(frozen=True)
class LineRange:
    """Consecutive lines of a file: from number `first`, counted from 0, to before `last`."""

    path: Path
    first: int
    last: int

    def __iter__(self) -> Iterator[str]:
        return islice(read_lines(self.path), self.first, self.last)

    def __len__(self) -> int:
        return self.last - self.first


class BackTranslationSettings(Settings):
    """How text is back-translated, and which pairs are kept."""

    search: SearchSettings = Field(
        default_factory=SearchSettings, description="Search of translations."
    )
    tag: str = Field(
        "",
        description="A word before each synthetic sentence, such as '<BT>' (Caswell et al. 2019). It is "
        "ordinary text: a few tokens, where the paper reserves one; lower-cased with the text.",
    )
    filters: dict[str, dict[str, Any]] = Field(
        {"ratio": {"unit": "characters"}, "identical": {"min_words": 3}},
        description="Filters of pairs, applied in order: see `interlace list filters`. The real side is the source.",
    )
    unfinished: bool = Field(
        False, description="Keep translations of maximum length, which are often cut."
    )
    word_tokenizer: WordTokenizerName = Field(
        "unicode", description="Word tokenizer of the filters."
    )
    window: int = Field(
        2000,
        ge=1,
        description="Lines read before they are translated; more give batches of more even length.",
    )

    @field_validator("tag")
    @classmethod
    def _is_word(cls, tag: str) -> str:
        if tag.split() != [tag] * bool(tag) or not tag.isprintable():
            raise SettingsError(
                f"tag {tag!r}: expected one word of printable characters without spaces"
            )
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

    translator: from the language of the text.
    text: a shard of a file; its sentences become the real side. The results of all shards, joined in order, are those
        of the whole file, except for filters that compare pairs.
    settings: of translation and filters. progress: called with a description, the number of lines done and the total.
    Raise a DataError if no pair is left, or the folder holds other files.
    """
    must_be_replaceable(into, BACK_TRANSLATED, "corpus of back-translations", ["train.*"])
    source = translator.translator.source
    target = translator.translator.target
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
                real = window.lines
                made = [one.text for one in window.translations]
                full = np.array(
                    [
                        bool(line.strip() and row.strip())
                        for line, row in zip(real, made, strict=True)
                    ]
                )
                ended = np.array(
                    [settings.unfinished or not one.full for one in window.translations]
                )
                pairs = plain((real, made), (source, target), settings.word_tokenizer)
                kept = np.flatnonzero(chain.keep(pairs, full & ended)).tolist()
                counts.update(
                    empty=int((~full).sum()), unfinished=int((full & ~ended).sum()), pairs=len(kept)
                )
                write(real[row].strip() for row in kept)
                write_made(prefix + made[row].strip() for row in kept)
                done += len(window)
                progress("translating", done, len(text))
        counts.update(chain.dropped)
        if not counts["pairs"]:
            why = ", ".join(
                f"{count:,} dropped by {rule}" for rule, count in counts.items() if count
            )
            raise DataError(f"{text.path}: no pair is left: {why}")
        about = {
            "from": source,
            "to": target,
            "pairs": counts.pop("pairs"),
            "dropped": dict(counts),
        }
        write_json(folder / BACK_TRANSLATED, {**about, "settings": settings.dump()})
    return about


def check_direction(name: str, source: str, target: str) -> None:
    """Raise a SettingsError that names the learned directions unless both languages of a direction are given."""
    missing = " and ".join(
        option for option, value in (("--from", source), ("--to", target)) if not value
    )
    if missing:
        _, metadata = translation_model(name)
        if metadata is not None:
            known = listed(metadata.max_source_lengths)
        else:
            known = ""
        hint = f"; trained in {known}" if known else ""
        raise SettingsError(f"{missing} LANGUAGE: missing translation direction{hint}")


def _check_folder(path: Path) -> None:
    """Reject an existing path that is neither a run nor a model; other names may be models of the hub."""
    if path.is_file():
        raise DataError(f"{path}: expected the folder of a run or a model, found a file")
    if path.is_dir() and not any((path / name).is_file() for name in (RECIPE, "config.json")):
        runs = [str(found.parent) for found in sorted(path.glob(f"*/{RECIPE}"))]
        if runs:
            hint = did_you_mean(str(path), runs)
        else:
            hint = "; name the folder of a finished run, or its model"
        raise DataError(f"{path}: neither a run ({RECIPE}) nor a model (config.json){hint}")


def _no_decoder(name: str) -> str:
    return (
        f"{name}: this model has no decoder; translation needs an encoder-decoder, which the objective 'translation' "
        "trains (recipe tiny/mt)"
    )
