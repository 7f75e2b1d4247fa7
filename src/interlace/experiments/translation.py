"""Translate by what runs have learnt: which directions they know, their models together, lines as they come."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.data.cache import content_key
from interlace.data.vocab import Vocab
from interlace.experiments.evaluate import target_of
from interlace.experiments.model_metadata import ModelMetadata
from interlace.models.checkpoint_files import find_checkpoint
from interlace.text.lines import count_lines, read_lines
from interlace.training.run_folder import RECIPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from interlace.models.generation import SearchSettings
    from interlace.models.seq2seq import Seq2Seq
    from interlace.models.translator import Translation
    from interlace.text.normalization import Normalization


@dataclass(frozen=True)
class TranslationModel:
    """A translation model on disk.

    name: as people gave it. folder: of the model. knowledge: what it learnt; None where nobody knows.
    """

    name: str
    folder: str
    knowledge: ModelMetadata | None

    @classmethod
    def of(cls, name: str) -> TranslationModel:
        """From the folder of a finished run, or of a model.

        Raises:
            RunError: the run is not finished. SettingsError: it did not learn to write. DataError: neither is there.
            CheckpointError: a model of the hub cannot be had.
        """
        path = Path(name)
        _must_be_a_place(path)
        run = path.parent if path.name == "model" and (path.parent / RECIPE).is_file() else path
        found = target_of(str(run), into=path)
        if found.trained is not None and found.trained.embeddings:
            raise SettingsError(f"{name}: word vectors, which translate nothing")
        if found.trained is None:
            return cls(name, found.model, ModelMetadata.read(find_checkpoint(found.model)))
        if not found.trained.seq2seq:
            raise SettingsError(_only_reads(name))
        return cls(name, found.model, ModelMetadata.of(found.trained))

    def known(self) -> list[str]:
        """The directions it was trained in, such as `en-de`; none where nobody knows."""
        return [] if self.knowledge is None else list(self.knowledge.longest)

    def must_know(self, source: str, target: str) -> None:
        """Refuse a direction it was not trained in.

        Raises:
            SettingsError: names those that it was trained in.
        """
        if self.knowledge is not None:
            self.knowledge.must_cover(source, target)

    def longest(self, source: str, target: str) -> int | None:
        """Most subwords of a sentence that it learnt to translate; none: not known."""
        return None if self.knowledge is None else self.knowledge.longest.get(f"{source}-{target}")


class LineTranslator:
    """One run, or several as an ensemble, in one direction: raw lines in, translations out."""

    def __init__(
        self,
        names: Sequence[str],
        source: str,
        target: str,
        search: SearchSettings | None = None,
        *,
        anyway: bool = False,
        rows: int | None = None,
        tokens: int | None = None,
        precision: str = "no",
    ) -> None:
        """Open the models.

        Args:
            names: folders of finished runs or of models; all with one vocabulary.
            source: the language that is read.
            target: the language that is written.
            search: how translations are searched for.
            anyway: also in directions that a run was not trained in.
            rows: most sentences of a batch; none: as many as `tokens` allows.
            tokens: most padded subwords of the sources of a batch, times the beam; none: see `Translator`.
            precision: `"no"` (float32), `"bf16"`, or `"auto"`: what is quick here.

        Raises:
            SettingsError: a run was not trained in the direction, a model cannot write, or the runs' vocabularies or
                normalisations differ.
            DataError: there is no such folder, or no subword for the target.
            CheckpointError: a model is missing or damaged.
            RunError: a run is not finished.
        """
        from interlace.models.translator import Translator
        from interlace.training.device import accelerator_for, resolved

        speakers = [TranslationModel.of(name) for name in names]
        for speaker in speakers:
            if not anyway:
                speaker.must_know(source, target)
        self._normalise = _normalisation(speakers)
        self._accelerator = accelerator_for(precision)
        models, vocab = _opened(speakers)
        lengths = [speaker.longest(source, target) for speaker in speakers]
        longest = min((length for length in lengths if length is not None), default=None)
        models = [model.to(self._accelerator.device) for model in models]
        self.translator = Translator(
            models, vocab, source, target, search, rows=rows, tokens=tokens, max_length=longest
        )
        self.source = source
        self._folders = [find_checkpoint(speaker.folder) for speaker in speakers]
        self._precision = resolved(precision)

    def key(self) -> dict[str, Any]:
        """All that translations hang on beside the lines: models by content, direction, search."""
        weights = [content_key(path) for folder in self._folders for path in sorted(folder.rglob("*.safetensors"))]
        translator = self.translator
        return {
            "models": weights,
            "vocab": translator.vocab.fingerprint,
            "direction": [translator.source, translator.target],
            "search": translator.settings.dump(),
            "longest": translator.max_length,
            "normalization": None if self._normalise is None else self._normalise.dump(),
            "precision": self._precision,
        }

    def windows(self, lines: Iterable[str], size: int, first: int = 0, *, cut: bool = True) -> Iterator[Window]:
        """Translations of so many lines at a time, which are all that is held.

        Args:
            lines: of the source language.
            size: lines of a window; more make batches of more even length.
            first: the number of the first line, from 0.
            cut: whether lines longer than the models read are translated in pieces.

        Raises:
            LongLineError: a line is longer, and is not to be cut.
        """
        coming = iter(lines)
        while taken := list(islice(coming, size)):
            read = taken if self._normalise is None else self._normalise.lines(taken, self.source)
            with self._accelerator.autocast():
                made = self.translator.lines(read, first, cut=cut)
            yield Window(first, taken, made)
            first += len(taken)


@dataclass(frozen=True)
class Window:
    """Lines, the number of the first from 0, and what became of each."""

    first: int
    lines: list[str]
    translations: list[Translation]

    def __len__(self) -> int:
        return len(self.lines)

    def counts(self) -> dict[str, int]:
        """How many lines were translated in pieces, hold what the vocabulary cannot spell, or came out at full length.

        Full length is as long as a translation might be.
        """
        return {
            "unknown": sum(one.unknown > 0 for one in self.translations),
            "pieces": sum(one.pieces > 1 for one in self.translations),
            "full": sum(one.hypotheses[0].full for one in self.translations),
        }


def check_direction(names: Sequence[str], source: str, target: str) -> None:
    """Refuse a direction half of which is missing, naming those that the runs were trained in.

    Raises:
        SettingsError: a language is missing.
    """
    missing = " and ".join(option for option, value in (("--from", source), ("--to", target)) if not value)
    if missing:
        known = list(dict.fromkeys(direction for name in names for direction in TranslationModel.of(name).known()))
        hint = f"; trained in {', '.join(known)}" if known else ""
        raise SettingsError(f"{missing} LANGUAGE: missing, the direction to translate in{hint}")


def _must_be_a_place(path: Path) -> None:
    """Refuse what is there and neither a run nor a model; what is not there may be a model of the hub."""
    if path.is_file():
        raise DataError(f"{path}: a file where the folder of a run or a model is expected")
    if path.is_dir() and not any((path / name).is_file() for name in (RECIPE, "config.json")):
        runs = [str(found.parent) for found in sorted(path.glob(f"*/{RECIPE}"))]
        hint = did_you_mean(str(path), runs) if runs else "; name the folder of a finished run, or its model"
        raise DataError(f"{path}: neither a run ({RECIPE}) nor a model (config.json){hint}")


def _normalisation(speakers: Sequence[TranslationModel]) -> Normalization | None:
    """What is done to each line first: what the runs' own text went through; none: nobody knows.

    Raises:
        SettingsError: it was not the same; one of them would read what it never learnt.
    """
    known = [(speaker.name, speaker.knowledge.normalization) for speaker in speakers if speaker.knowledge is not None]
    for name, normalization in known[1:]:
        first, other = known[0][1].dump(), normalization.dump()
        differ = [f"{key} = {first[key]!r} and {other[key]!r}" for key in first if first[key] != other[key]]
        if differ:
            message = f"{known[0][0]} and {name} normalize their text differently: {', '.join(differ)}"
            raise SettingsError(f"{message}; models translate together only where they read the same")
    return known[0][1] if known else None


def _opened(speakers: list[TranslationModel]) -> tuple[list[Seq2Seq], Vocab]:
    """The models and their one vocabulary."""
    from interlace.models.build import load
    from interlace.models.decoding import check_same_vocabulary
    from interlace.models.seq2seq import Seq2Seq

    vocabs = [Vocab.load(speaker.folder) for speaker in speakers]
    check_same_vocabulary(vocabs, [speaker.name for speaker in speakers])
    models: list[Seq2Seq] = []
    for speaker, vocab in zip(speakers, vocabs, strict=True):
        model: Any = load(speaker.folder, vocab)
        if not isinstance(model, Seq2Seq):
            raise SettingsError(_only_reads(speaker.name))
        models.append(model)
    return models, vocabs[0]


def _only_reads(name: str) -> str:
    message = f"{name}: this model only reads; translation needs an encoder-decoder"
    return f"{message}, which the objective 'translation' trains (recipe tiny/mt)"


# FROM part:
# Parts that a text is cut into, so that several devices or machines share it.
#
# A part is of lines that stand together: what is made of the parts, joined in their order, is what is made of the whole.


@dataclass(frozen=True)
class Shard:
    """Shard `number`, from 1, `of` so many, of as good as equal size."""

    number: int
    of: int

    @classmethod
    def read(cls, said: str) -> Shard:
        """From `"2/4"`, the second of four.

        Raises:
            SettingsError: it is no such part.
        """
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", said)
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of:
            raise SettingsError(f"--shard {said!r}: expected I/N, from 1/N to N/N, such as 1/4 for the first of four")
        return cls(number, of)

    def lines_of(self, path: Path) -> LineRange:
        """This part of a file.

        Raises:
            DataError: the file cannot be read, or has fewer lines than there are parts, if these are several.
        """
        total = count_lines(path)
        if total < self.of > 1:
            what = f"its lines ({total}) are too few for {self.of} parts" if total else "the file is empty"
            raise DataError(f"{path}: {what}")
        return LineRange(path, total * (self.number - 1) // self.of, total * self.number // self.of)


@dataclass(frozen=True)
class LineRange:
    """Lines of a file that stand together: from number `first`, counted from 0, to before `last`."""

    path: Path
    first: int
    last: int

    def __iter__(self) -> Iterator[str]:
        return islice(read_lines(self.path), self.first, self.last)

    def __len__(self) -> int:
        return self.last - self.first
