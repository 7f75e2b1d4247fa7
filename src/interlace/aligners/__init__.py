"""Registry of aligners: which word of a sentence translates which word of the other.

An aligner is settings; `fit` learns from pairs and gives a `FittedAligner`, which links any pairs, those it was fitted on or
new ones, chunk by chunk. Objectives never see an aligner: they read links.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from interlace.core.errors import DataError
from interlace.core.registry import Registry
from interlace.core.settings import Settings
from interlace.text.lines import atomic_folder, must_be_replaceable, must_exist, read_lines, write_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged


@dataclass(frozen=True)
class TrainingText:
    """The text that an aligner learnt from: languages of source and target, and what found its words."""

    languages: tuple[str, str]
    word_tokenizer: str

    def differs(self, pairs: WordPairs) -> str:
        """What is other in a text that is to be linked; empty where nothing is, or nobody knows."""
        if pairs.word_tokenizer != self.word_tokenizer:
            return f"learnt from words that {self.word_tokenizer!r} found, but those of this text {pairs.word_tokenizer!r} found"
        if ("source", "target") not in {self.languages, pairs.languages} and pairs.languages != self.languages:
            return f"learnt from {'-'.join(self.languages)}, but this text is {'-'.join(pairs.languages)}"
        return ""


@dataclass(frozen=True)
class Alignments:
    """The links of n pairs.

    links: n rows of (source word, target word), as `interlace.alignment` describes them; empty where a side is empty.
    confidence: (total,) float32 in (0, 1], the aligner's probability of each link; 1 where it has none.
    """

    links: Ragged
    confidence: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.links)


class FittedAligner(ABC):
    """What an aligner trained_on.

    learnt: from what, where it was loaded from a folder that says so.
    """

    aligner: Aligner
    trained_on: TrainingText | None = None

    @abstractmethod
    def align(self, pairs: WordPairs) -> Alignments:
        """Links of every pair, in order; a pure function of what was learnt and of each pair alone."""

    def align_training_pairs(self, pairs: WordPairs) -> Alignments:
        """Links of the pairs it was fitted on, or of a slice of them (`pairs.first` says which).

        Mostly as `align`; an aligner that samples knows more of the pairs it sampled.
        """
        return self.align(pairs)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `restore` needs beside the word types.

        Raises:
            DataError: this aligner learns nothing that could be kept.
        """
        raise DataError(f"the aligner {self.aligner.name!r} learns nothing that could be saved")

    def types(self) -> tuple[list[str], list[str]]:
        """The word types of source and target that the arrays speak of."""
        return [], []

    def save(self, folder: Path | str, pairs: WordPairs | None = None) -> None:
        """Write the model into a folder: `aligner.json`, `model.safetensors`, `source.words`, `target.words`.

        pairs: what it was fitted on; languages and word tokenizer are then written down, so that whoever loads the model can
            tell whether other text suits it.
        """
        from safetensors.numpy import save_file

        arrays = {name: np.ascontiguousarray(array) for name, array in self.arrays().items()}
        must_be_replaceable(folder, ALIGNER_FILE, "aligner")
        with atomic_folder(folder) as partial:
            about = {"format": FORMAT, "aligner": self.aligner.name, "settings": self.aligner.dump()}
            trained_on = self.trained_on if pairs is None else TrainingText(pairs.languages, pairs.word_tokenizer)
            about |= {} if trained_on is None else {"trained_on": asdict(trained_on)}
            (partial / ALIGNER_FILE).write_text(json.dumps(about, indent=1), encoding="utf-8")
            save_file(arrays, partial / "model.safetensors")
            for side, spellings in zip(_SIDES, self.types(), strict=True):
                write_lines(partial / f"{side}.words", spellings)


class Aligner(Settings, ABC):
    """Finds word links. Its fields are its settings."""

    can_save: ClassVar[bool] = True  # whether what it learns can be saved and used on new text
    files: ClassVar[tuple[str, ...]] = ()  # fields that name files; recipes look for them under their data root

    @property
    def name(self) -> str:
        """The public name: that of the member's file."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_guest_")

    @abstractmethod
    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedAligner:
        """Learn from all pairs.

        priors: word translations from a bigger corpus or a dictionary; aligners without use for them say so.
        progress: called with what is done, steps done and steps in all.

        Raises:
            DataError: no pair has words on both sides, or what the aligner needs is missing.
        """

    def restore(
        self,
        arrays: Mapping[str, NDArray[Any]],  # noqa: ARG002 - members that learn read them
        source_types: list[str],  # noqa: ARG002
        target_types: list[str],  # noqa: ARG002
    ) -> FittedAligner:
        """What `FittedAligner.arrays` and `FittedAligner.types` gave, usable again."""
        raise DataError(f"the aligner {self.name!r} cannot be restored from a folder")


ALIGNERS: Registry[Any] = Registry(__name__, "aligner", Aligner)
DEFAULT_ALIGNER = "gibbs"
ALIGNER_FILE = "aligner.json"  # the file by which a folder is known to hold a saved aligner
FORMAT = 1  # of saved models; counts up when an older interlace could no longer read them
_SIDES = ("source", "target")


def load_aligner(folder: Path | str) -> FittedAligner:
    """A model that `FittedAligner.save` wrote.

    Raises:
        DataError: the folder holds no aligner, or one that is damaged.
        SettingsError: there is no such aligner (any more), or it has no such settings.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = Path(folder)
    mark = must_exist(folder / ALIGNER_FILE, "saved aligner")
    try:
        about = _about(mark)
        aligner = ALIGNERS.get(about.aligner).read(about.settings, str(mark))
        arrays = load_file(must_exist(folder / "model.safetensors"))
    except (ValueError, SafetensorError) as error:  # no JSON, or not in UTF-8
        raise DataError(f"{folder}: damaged aligner: {error}") from error
    source, target = (_spellings(folder / f"{side}.words") for side in _SIDES)
    fitted: FittedAligner = aligner.restore(arrays, source, target)
    if about.trained_on is not None:
        object.__setattr__(fitted, "trained_on", about.trained_on)  # a member may be a frozen dataclass
    return fitted


class _About(Settings):
    """What `aligner.json` says."""

    format: int = 1
    aligner: str
    settings: dict[str, Any]
    trained_on: TrainingText | None = None


def _about(mark: Path) -> _About:
    found = json.loads(mark.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise DataError(f"{mark}: damaged aligner: expected an object of JSON, found {found!r}"[:300])
    if isinstance(found.get("format"), int) and found["format"] > FORMAT:
        raise DataError(
            f"{mark}: a model of format {found['format']}, written by a newer interlace; this one reads {FORMAT}"
        )
    return _About.read(found, str(mark))


def _spellings(path: Path) -> list[str]:
    return list(read_lines(path)) if must_exist(path).stat().st_size else []
