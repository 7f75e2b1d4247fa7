"""Translate with trained models: learned directions, ensembles, shards of a file, and resumable output files."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import logging
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from interlace.core.errors import DataError, RunError, SettingsError, did_you_mean
from interlace.core.files import NO_LINK, must_take_a_file
from interlace.data.cache import content_key
from interlace.data.vocab import Vocab
from interlace.experiments.evaluate import target_of
from interlace.experiments.records import ModelMetadata
from interlace.models.checkpoint_files import find_checkpoint
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import SearchSettings
from interlace.models.translator import LineTranslation
from interlace.text.lines import count_lines, read_lines
from interlace.text.normalization import Normalization
from interlace.training.run_folder import RECIPE, read_json, write_json

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TranslationModel:
    """A translation model on disk.

    name: as given by the user. folder: of the model. metadata: what it learned; None if unknown.
    """

    name: str
    folder: str
    metadata: ModelMetadata | None

    @classmethod
    def of(cls, name: str) -> TranslationModel:
        """Find the model of a finished run, a model folder or a hub name.

        Raises:
            RunError: the run is not finished. SettingsError: the model has no decoder. DataError: no such folder.
            CheckpointError: a model of the hub is not available.
        """
        path = Path(name)
        _check_folder(path)
        run = path.parent if path.name == "model" and (path.parent / RECIPE).is_file() else path
        found = target_of(str(run), into=path)
        if found.trained is None:
            return cls(name, found.model, ModelMetadata.read(find_checkpoint(found.model)))
        if found.trained.embeddings:
            raise SettingsError(f"{name}: holds word vectors, which cannot translate")
        if not found.trained.seq2seq:
            raise SettingsError(_no_decoder(name))
        return cls(name, found.model, ModelMetadata.of(found.trained))

    def directions(self) -> list[str]:
        """Return the learned directions, such as `en-de`; empty if unknown."""
        return [] if self.metadata is None else list(self.metadata.max_source_lengths)


class LineTranslator:
    """Translates raw lines in one direction with one model or an ensemble."""

    def __init__(
        self,
        names: Sequence[str],
        source: str,
        target: str,
        search: SearchSettings | None = None,
        *,
        force: bool = False,
        rows: int | None = None,
        tokens: int | None = None,
        precision: str = "no",
    ) -> None:
        """Load the models.

        Args:
            names: folders of finished runs or of models; all with one vocabulary.
            source: the source language.
            target: the target language.
            search: search settings.
            force: also translate directions that a model was not trained in.
            rows: maximum sentences in a batch; None: as many as `tokens` allows.
            tokens: maximum padded source tokens in a batch, times the beam size; None: see `Translator`.
            precision: `"no"` (float32), `"bf16"`, or `"auto"` (bf16 where the hardware supports it).

        Raises:
            SettingsError: a model was not trained in the direction or has no decoder, or vocabularies or
                normalization differ.
            DataError: there is no such folder, or no token for the target language.
            CheckpointError: a model is missing or damaged.
            RunError: a run is not finished.
        """
        from interlace.models.translator import Translator
        from interlace.training.device import accelerator_for, resolved

        models = [TranslationModel.of(name) for name in names]
        metadata = [model.metadata for model in models if model.metadata is not None]
        for known in metadata if not force else ():
            known.check_direction(source, target)
        self._normalization = _normalization(models)
        self._accelerator = accelerator_for(precision)
        loaded, vocab = _loaded(models)
        lengths = [known.max_source_lengths.get(f"{source}-{target}") for known in metadata]
        max_length = min((length for length in lengths if length is not None), default=None)
        loaded = [model.to(self._accelerator.device) for model in loaded]
        self.translator = Translator(
            loaded, vocab, source, target, search, rows=rows, tokens=tokens, max_length=max_length
        )
        self.source = source
        self._folders = [find_checkpoint(model.folder) for model in models]
        self._precision = resolved(precision)

    def key(self) -> dict[str, Any]:
        """Return everything that translations depend on except the lines: model contents, direction, search."""
        weights = [content_key(path) for folder in self._folders for path in sorted(folder.rglob("*.safetensors"))]
        translator = self.translator
        return {
            "models": weights,
            "vocab": translator.vocab.fingerprint,
            "direction": [translator.source, translator.target],
            "search": translator.settings.dump(),
            "max_length": translator.max_length,
            "normalization": None if self._normalization is None else self._normalization.dump(),
            "precision": self._precision,
        }

    def windows(self, lines: Iterable[str], size: int, first: int = 0, *, cut: bool = True) -> Iterator[Window]:
        """Yield translations of `size` lines at a time; only one window is in memory.

        Args:
            lines: of the source language.
            size: lines in a window; larger windows give batches of more even length.
            first: the number of the first line, from 0.
            cut: whether to translate lines longer than the models' maximum in pieces.

        Raises:
            LongLineError: a line is longer, and `cut` is false.
        """
        lines = iter(lines)
        while window := list(islice(lines, size)):
            text = window if self._normalization is None else self._normalization.lines(window, self.source)
            with self._accelerator.autocast():
                translations = self.translator.lines(text, first, cut=cut)
            yield Window(first, window, translations)
            first += len(window)


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
            "full": sum(one.hypotheses[0].full for one in self.translations),
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
            raise SettingsError(f"--shard {text!r}: expected I/N, from 1/N to N/N, such as 1/4 for the first of four")
        return cls(number, of)

    def lines_of(self, path: Path) -> LineRange:
        """Return this shard of a file.

        Raises:
            DataError: the file cannot be read, or has fewer lines than there are shards, if there are several.
        """
        total = count_lines(path)
        if total < self.of > 1:
            what = f"{total} lines are too few for {self.of} shards" if total else "the file is empty"
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


def check_direction(names: Sequence[str], source: str, target: str) -> None:
    """Check that both languages of a direction are given.

    Raises:
        SettingsError: one is missing; names the learned directions.
    """
    missing = " and ".join(option for option, value in (("--from", source), ("--to", target)) if not value)
    if missing:
        known = list(dict.fromkeys(direction for name in names for direction in TranslationModel.of(name).directions()))
        hint = f"; trained in {', '.join(known)}" if known else ""
        raise SettingsError(f"{missing} LANGUAGE: missing translation direction{hint}")


def _check_folder(path: Path) -> None:
    """Reject an existing path that is neither a run nor a model; other names may be models of the hub."""
    if path.is_file():
        raise DataError(f"{path}: expected the folder of a run or a model, found a file")
    if path.is_dir() and not any((path / name).is_file() for name in (RECIPE, "config.json")):
        runs = [str(found.parent) for found in sorted(path.glob(f"*/{RECIPE}"))]
        hint = did_you_mean(str(path), runs) if runs else "; name the folder of a finished run, or its model"
        raise DataError(f"{path}: neither a run ({RECIPE}) nor a model (config.json){hint}")


def _normalization(models: Sequence[TranslationModel]) -> Normalization | None:
    """Return the normalization of the models' training text; None if unknown."""
    known = [(model.name, model.metadata.normalization) for model in models if model.metadata is not None]
    for name, normalization in known[1:]:
        first, other = known[0][1].dump(), normalization.dump()
        differ = [f"{key} = {first[key]!r} and {other[key]!r}" for key in first if first[key] != other[key]]
        if differ:
            raise SettingsError(
                f"{known[0][0]} and {name} normalize their text differently: {', '.join(differ)}; the models of an "
                "ensemble need the same input"
            )
    return known[0][1] if known else None


def _loaded(models: list[TranslationModel]) -> tuple[list[Seq2Seq], Vocab]:
    """Load the models and their common vocabulary."""
    from interlace.models.build import load
    from interlace.models.search import check_same_vocabulary
    from interlace.models.seq2seq import Seq2Seq

    vocabs = [Vocab.load(model.folder) for model in models]
    check_same_vocabulary(vocabs, [model.name for model in models])
    found: list[Seq2Seq] = []
    for model, vocab in zip(models, vocabs, strict=True):
        loaded: Any = load(model.folder, vocab)
        if not isinstance(loaded, Seq2Seq):
            raise SettingsError(_no_decoder(model.name))
        found.append(loaded)
    return found, vocabs[0]


def _no_decoder(name: str) -> str:
    return (
        f"{name}: this model has no decoder; translation needs an encoder-decoder, which the objective 'translation' "
        "trains (recipe tiny/mt)"
    )


class ResumableFile:
    """The remaining lines of a source, and the partial file of their results, which the caller has locked.

    Beside it is its progress: the settings, the number of bytes and a hash of the lines read. Bytes after the recorded
    progress are discarded.

    lines: the remaining lines. done: number of lines whose results are written. counts: summed over windows.
    """

    def __init__(self, path: Path, key: dict[str, Any], source: LineRange) -> None:
        self.path, self.done = path, 0
        self.counts: dict[str, int] = {}
        self.partial = path.with_name(f".{path.name}.partial")
        self._state_path = path.with_name(f".{path.name}.partial.json")
        self._key, self._size, self._digest = key, 0, hashlib.blake2b(digest_size=16)
        self._saved = -math.inf
        try:
            self._file = os.fdopen(os.open(self.partial, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, 0o666), "ab")
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise DataError(f"{self.partial}: is a symbolic link; remove it") from None
        self.lines = self._remaining(source)

    def write(self, read: Sequence[str], rows: Sequence[str], counts: Mapping[str, int]) -> None:
        """Append the results of some lines; store the progress from time to time."""
        data = "".join(f"{row}\n" for row in rows).encode()
        data = gzip.compress(data, mtime=0) if self.path.suffix == ".gz" else data
        self._file.write(data)
        self._size += len(data)
        self._count(read)
        self.counts = {name: self.counts.get(name, 0) + count for name, count in counts.items()}
        if time.monotonic() - self._saved >= 2.0:
            self.save()

    @property
    def digest(self) -> str:
        """The `digest_of` the lines that are done."""
        return self._digest.hexdigest()

    def save(self) -> None:
        """Store the progress."""
        self._file.flush()
        os.fsync(self._file.fileno())
        state = {"key": self._key, "lines": self.done, "bytes": self._size, "read": self.digest, "counts": self.counts}
        write_json(self._state_path, state)
        self._saved = time.monotonic()

    def close(self, *, finished: bool) -> None:
        """Move the finished file to its place; keep an unfinished one with its progress if some line is done."""
        if finished or self.done:
            self.save()
        self._file.close()
        if finished:
            os.replace(self.partial, self.path)
        elif not self.done:
            self.partial.unlink()
        if finished or not self.done:
            self._state_path.unlink(missing_ok=True)

    def _remaining(self, source: LineRange) -> Iterator[str]:
        """Return the lines that are not done; all lines if the partial file has another text or other settings."""
        state, lines = read_json(self._state_path), iter(source)
        if state and state["key"] == self._key and state["bytes"] <= os.fstat(self._file.fileno()).st_size:
            for block in _blocks(islice(lines, state["lines"])):
                self._count(block)
            if (self.done, self.digest) == (state["lines"], state["read"]):
                self.counts, self._size = state["counts"], state["bytes"]
                self._file.truncate(self._size)
                if self.done:
                    log.info("%s: resuming after line %s", self.path, f"{source.first + self.done:,}")
                return lines
        if state is not None:
            log.info("%s: the partial file belongs to another text or other settings; starting over", self.path)
            self._state_path.unlink()
        self.done, self._digest = 0, hashlib.blake2b(digest_size=16)
        self._file.truncate(0)
        return iter(source)

    def _count(self, lines: Sequence[str]) -> None:
        self._digest.update(_bytes_of(lines))
        self.done += len(lines)


@contextmanager
def resumable(source: LineRange, path: Path, key: dict[str, Any]) -> Iterator[ResumableFile]:
    """Write the file `path` from the lines of `source` under the settings `key`; resume an interrupted one.

    Raises:
        RunError: another process writes it.
        DataError: the text cannot be read, or `path` cannot be a file.
    """
    must_take_a_file(path)
    if path.exists() and path.samefile(source.path):
        raise DataError(f"{path}: is the source text; write to another file")
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except (FileExistsError, NotADirectoryError):
        raise DataError(f"{path}: {path.parent} is not a folder") from None
    except Timeout:
        raise RunError(f"{path}: another process is writing it") from None
    try:
        result = ResumableFile(path, json.loads(json.dumps({**key, "first": source.first})), source)
        try:
            yield result
        except BaseException:
            result.close(finished=False)
            raise
        result.close(finished=True)
    finally:
        with suppress(OSError):  # an open file cannot be removed on Windows
            Path(lock.lock_file).unlink()
        lock.release()


def digest_of(lines: Iterable[str]) -> str:
    """Return a hash of a text's lines."""
    digest = hashlib.blake2b(digest_size=16)
    for block in _blocks(lines):
        digest.update(_bytes_of(block))
    return digest.hexdigest()


def _bytes_of(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    coming = iter(lines)
    while block := list(islice(coming, 10_000)):
        yield block
