"""Registry of word aligners for parallel text.

An aligner is a set of settings. `fit` learns from sentence pairs and returns a `FittedAligner`, which aligns any pairs,
its training pairs or new ones, chunk by chunk.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlace.alignment import WordPairs
from interlace.core.errors import DataError, dependency_errors
from interlace.core.files import atomic_folder, must_be_replaceable, must_exist
from interlace.core.json_files import JsonObject, read_json
from interlace.core.progress import Progress
from interlace.core.ragged import AnyArray, Arrays, FloatArray, IntArray, Ragged
from interlace.core.registry import Registry
from interlace.core.settings import RegistryEntry, Settings
from interlace.text import LanguagePair
from interlace.text.lines import read_lines, write_lines

if TYPE_CHECKING:
    from interlace.alignment.lexicon import Lexicon

DEFAULT_ALIGNER = "gibbs"
ALIGNER_FILE = "aligner.json"  # marks a folder as a saved aligner
CONTENTS = ("model.safetensors", "source.words", "target.words", "encoder/*")
FORMAT = 1  # of saved aligners; raised when an older interlace could no longer read them
SMALLEST = float(np.finfo(np.float32).tiny)  # of positive numbers of a model

_SIDES = ("source", "target")


@dataclass(frozen=True)
class TrainingText:
    """The text that an aligner was trained on: languages of source and target, and the word tokenizer."""

    languages: LanguagePair
    word_tokenizer: str

    def may_be_in_languages_of(self, pairs: WordPairs) -> bool:
        """Return whether a text is in the same languages, or those of one of both are unknown."""
        is_known = ("source", "target") not in {self.languages, pairs.languages}
        return not is_known or pairs.languages == self.languages

    def mismatch(self, pairs: WordPairs) -> str:
        """Return how a text to align differs, or an empty string if it does not or this is unknown."""
        if pairs.word_tokenizer != self.word_tokenizer:
            return (
                f"trained on words of the word tokenizer {self.word_tokenizer!r}, but this text was tokenized by "
                f"{pairs.word_tokenizer!r}"
            )
        if not self.may_be_in_languages_of(pairs):
            return f"trained on {'-'.join(self.languages)}, but this text is {'-'.join(pairs.languages)}"
        return ""


@dataclass(frozen=True)
class Alignments:
    """The word alignments of n pairs.

    links: n rows of (source word, target word), as `interlace.alignment` describes them; empty if a side is empty.
    confidence: (total,) float32 in (0, 1], the aligner's probability of each link; 1 if it has none.
    """

    links: Ragged
    confidence: FloatArray

    def __len__(self) -> int:
        return len(self.links)

    def take(self, rows: IntArray) -> Alignments:
        """Return the alignments of some pairs."""
        confidence = Ragged(self.confidence, self.links.offsets)
        return Alignments(self.links.take(rows), confidence.take(rows).flat)

    @classmethod
    def concatenate(cls, parts: Sequence[Alignments]) -> Alignments:
        """Return all pairs of all parts, in order."""
        parts = [cls(Ragged.of([], width=2), np.zeros(0, np.float32)), *parts]
        links = Ragged.concatenate([part.links for part in parts])
        return cls(links, np.concatenate([part.confidence for part in parts]))


class FittedAligner(ABC):
    """A trained aligner.

    trained_on: its training text, if it was loaded from a folder that records it.
    """

    aligner: Aligner
    trained_on: TrainingText | None = None

    @abstractmethod
    def align(self, pairs: WordPairs) -> Alignments:
        """Align every pair, in order; a pure function of the model and of each pair alone."""

    def align_training_pairs(self, pairs: WordPairs) -> Alignments:
        """Align the training pairs or a slice of them (`pairs.first` is the index of its first pair).

        The same as `align` by default; a sampling aligner uses its samples of these pairs.
        """
        return self.align(pairs)

    def arrays(self) -> Arrays:
        """Return the arrays that `Aligner.restore` needs besides the word types.

        Raises:
            DataError: this aligner cannot be saved.
        """
        raise DataError(f"the aligner {self.aligner.name!r} has no model to save")

    def types(self) -> tuple[list[str], list[str]]:
        """Return the word types of source and target that the arrays refer to."""
        return [], []

    def save_files(self, folder: Path) -> None:  # noqa: B027 - most have no such files
        """Write what `Aligner.restore` needs besides arrays and word types into the folder of the model."""

    def save(self, folder: Path | str, pairs: WordPairs | None = None) -> None:
        """Write the model into a folder: `aligner.json`, `model.safetensors`, `source.words`, `target.words`.

        pairs: the training pairs, whose languages and word tokenizer are recorded for `TrainingText.mismatch`.
        """
        from safetensors.numpy import save_file

        arrays = {name: np.ascontiguousarray(array) for name, array in self.arrays().items()}
        trained_on = self.trained_on
        if pairs is not None:
            trained_on = TrainingText(pairs.languages, pairs.word_tokenizer)
        metadata = {
            "format": FORMAT,
            "aligner": self.aligner.name,
            "settings": self.aligner.dump(),
        }
        if trained_on is not None:
            metadata["trained_on"] = asdict(trained_on)
        must_be_replaceable(folder, ALIGNER_FILE, "aligner", CONTENTS)
        with atomic_folder(folder) as partial:
            (partial / ALIGNER_FILE).write_text(
                json.dumps(metadata, indent=1), encoding="utf-8"
            )
            save_file(arrays, partial / "model.safetensors")
            for side, spellings in zip(_SIDES, self.types(), strict=True):
                write_lines(partial / f"{side}.words", spellings)
            self.save_files(partial)


@dataclass(frozen=True)
class StoredAlignments(FittedAligner):
    """The alignments of one fixed corpus, such as the result of an external program or a file.

    links: a row per pair. lengths: (n, 2) words of source and target of each pair. confidence: (total,) of each link.
    """

    aligner: Aligner
    links: Ragged
    lengths: IntArray
    confidence: FloatArray

    @classmethod
    def of(
        cls,
        aligner: Aligner,
        pairs: WordPairs,
        links: Ragged,
        confidence: FloatArray | None = None,
    ) -> StoredAlignments:
        """Store the links of a whole corpus; without confidence, every link has 1."""
        if confidence is None:
            confidence = np.ones(len(links.flat), np.float32)
        return cls(aligner, links, _lengths(pairs), confidence)

    def align(self, pairs: WordPairs) -> Alignments:
        """Return the links of the pairs from `pairs.first` on; raise a DataError unless they are the training pairs."""
        start = pairs.first
        stop = start + len(pairs)
        if not np.array_equal(self.lengths[start:stop], _lengths(pairs)):
            raise DataError(
                f"{self.aligner.name} only aligns its training text, of {len(self.links)} pairs; pairs {start + 1} to "
                f"{stop} of this text have other numbers of words"
            )
        links = self.links.slice(start, stop)
        confidence = self.confidence[links.offsets[0] : links.offsets[-1]]
        flat = np.ascontiguousarray(links.flat)
        return Alignments(Ragged(flat, links.offsets - links.offsets[0]), confidence)


def _lengths(pairs: WordPairs) -> IntArray:
    """(n, 2) words of source and target of each pair."""
    return np.stack([pairs.source.lengths, pairs.target.lengths], axis=1)


class Aligner(RegistryEntry, ABC):
    """A word aligner; its fields are its settings."""

    # whether the trained model can be saved and used on new text
    can_save: ClassVar[bool] = True
    # fields that are file names; recipes resolve them under their data root
    files: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def fit(
        self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None
    ) -> FittedAligner:
        """Train on all pairs.

        priors: word translations from a larger corpus or a dictionary; aligners that cannot use them log a warning.

        Raises:
            DataError: no pair has words on both sides, or a file is missing or aligns another text.
            SettingsError: the aligner lacks a setting, or the encoder lacks the layer or the device.
        """

    def restore(
        self,
        arrays: Arrays,  # noqa: ARG002
        source_types: list[str],  # noqa: ARG002
        target_types: list[str],  # noqa: ARG002
        folder: Path,  # noqa: ARG002
    ) -> FittedAligner:
        """Rebuild a model from what `FittedAligner.arrays` and `FittedAligner.types` returned.

        folder: of the model, with what `FittedAligner.save_files` wrote.
        """
        raise DataError(f"the aligner {self.name!r} cannot be loaded from a folder")


_OTHER_TOOLS = {
    **dict.fromkeys(("eflomal", "efmaral", "giza", "giza++", "mgiza"), "gibbs"),
    **dict.fromkeys(("fast_align", "fast-align"), "diagonal"),
    **dict.fromkeys(("simalign", "awesome-align", "awesome_align"), "similarity"),
}
ALIGNERS: Registry[Any] = Registry(__name__, "aligner", Aligner, _OTHER_TOOLS)


class _Metadata(Settings):
    """The content of `aligner.json`."""

    format: int = 1
    aligner: str
    settings: JsonObject
    trained_on: TrainingText | None = None


@dependency_errors()
def load_aligner(folder: Path | str) -> FittedAligner:
    """Load a model that `FittedAligner.save` wrote.

    Raises:
        DataError: the folder holds no aligner, or a damaged one.
        SettingsError: the aligner or one of its settings does not exist.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = Path(folder)
    file = must_exist(folder / ALIGNER_FILE, "saved aligner")
    try:
        found = read_json(file, JsonObject, remedy="expected a saved aligner")
        if isinstance(found.get("format"), int) and found["format"] > FORMAT:
            raise DataError(
                f"{file}: format {found['format']} of a newer interlace; this one reads {FORMAT}"
            )
        metadata = _Metadata.read(found, str(file))
        aligner = ALIGNERS.get(metadata.aligner).read(metadata.settings, str(file))
        arrays = load_file(must_exist(folder / "model.safetensors"))
    except (ValueError, SafetensorError) as error:  # invalid JSON or UTF-8
        raise DataError(f"{folder}: damaged aligner: {error}") from error
    lists = (must_exist(folder / f"{side}.words") for side in _SIDES)
    source, target = (list(read_lines(path)) if path.stat().st_size else [] for path in lists)
    fitted: FittedAligner = aligner.restore(arrays, source, target, folder)
    if metadata.trained_on is not None:
        # an entry may be a frozen dataclass
        object.__setattr__(fitted, "trained_on", metadata.trained_on)
    return fitted


def checked_array(
    arrays: Mapping[str, AnyArray],
    name: str,
    kind: type[np.generic],
    shape: tuple[int, ...],
    where: str,
    low: float = SMALLEST,
    high: float | tuple[int, ...] = np.inf,
) -> AnyArray:
    """Return a saved model's array, checked because compiled loops do not check; raise a DataError if it is wrong.

    low, high: bounds of the values, or of those of each column; by default they are positive numbers.
    """
    array = arrays.get(name)
    if array is None:
        raise DataError(f"{where}: damaged model: the array {name!r} is missing")
    if array.shape != shape or array.dtype != kind:
        raise DataError(
            f"{where}: damaged model: {name!r} is {array.dtype} of shape {array.shape}; expected {np.dtype(kind)} of "
            f"shape {shape}"
        )
    if not (np.isfinite(array) & (array >= low) & (array <= high)).all():
        raise DataError(
            f"{where}: damaged model: {name!r} holds a number out of range; expected {low:g} to {high}"
        )
    return array
