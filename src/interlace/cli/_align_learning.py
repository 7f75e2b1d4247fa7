"""How links are found: by an aligner that learns from the text, or by a model that was saved."""

from __future__ import annotations

import logging
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from interlace.aligners import ALIGNER_FILE, ALIGNERS, DEFAULT_ALIGNER, load_aligner
from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import SettingsError, did_you_mean
from interlace.text.lines import must_be_replaceable, must_exist

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interlace.aligners import Aligner, Alignments, FittedAligner
    from interlace.alignment import WordPairs
    from interlace.core.progress import Progress

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learning:
    """An aligner and what it may know beforehand, or a saved model; and where to save what is trained_on."""

    aligner: Aligner
    saved: FittedAligner | None = None
    priors: Path | None = None
    model: Path | None = None

    @classmethod
    def of(cls, name: str, settings: Mapping[str, str], priors: Path | None, model: Path | None) -> Learning:
        """An aligner by its name and settings as they are typed.

        Raises:
            SettingsError: there is no such aligner or setting, or a model cannot be saved.
            DataError: a file is missing, or something else stands where the model should go.
        """
        name = name or DEFAULT_ALIGNER
        kind = ALIGNERS.get(name)
        if "symmetrization" in settings:
            _must_join(kind, name, settings["symmetrization"])
        aligner = kind.read({key: _parsed(value) for key, value in settings.items()}, f"--with {name}")
        if model is not None:
            if not aligner.can_save:
                raise SettingsError(f"--model: the aligner {name!r} learns nothing that could be saved")
            must_be_replaceable(model, ALIGNER_FILE, "aligner")
        return cls(aligner, priors=None if priors is None else must_exist(priors, "dictionary"), model=model)

    @classmethod
    def saved_in(cls, folder: Path, others: Mapping[str, Any]) -> Learning:
        """A saved model; `others` are the options that have no say then.

        Raises:
            SettingsError: one of them was given.
            DataError: the folder holds no model.
        """
        if given := [option for option, value in others.items() if value]:
            raise SettingsError(f"--use: the saved model decides, so leave out {', '.join(given)}")
        fitted = load_aligner(folder)
        return cls(fitted.aligner, fitted)

    def fit(self, words: WordPairs, progress: Progress) -> FittedAligner:
        """What links the words; saved where that is asked for."""
        if self.saved is not None:
            if self.saved.trained_on is not None and (why := self.saved.trained_on.mismatch(words)):
                log.warning("--use: %s; links may be poor", why)
            return self.saved
        fitted = self.aligner.fit(words, None if self.priors is None else Lexicon.read(self.priors), progress)
        if self.model is not None:
            fitted.save(self.model, words)
        return fitted

    def links(self, fitted: FittedAligner, words: WordPairs) -> Alignments:
        """The links of some of the pairs."""
        return fitted.align_training_pairs(words) if self.saved is None else fitted.align(words)


def _parsed(value: str) -> Any:
    """A list where it is one, else the text, which settings turn into what they need."""
    if value.startswith("["):
        try:
            return tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            return value
    return value


def _must_join(kind: type[Aligner], name: str, heuristic: str) -> None:
    """Refuse a heuristic that the aligner does not have, in a sentence."""
    field = kind.model_fields.get("symmetrization")
    if field is None:
        raise SettingsError(f"--symmetrization: the aligner {name!r} does not join two directions")
    if heuristic not in (known := _choices(field.annotation)):
        raise SettingsError(f"--symmetrization: {name!r} knows no {heuristic!r}{did_you_mean(heuristic, known)}")


def _choices(annotation: Any) -> list[str]:
    """The words of a `Literal`, or of a union of some."""
    if isinstance(annotation, str):
        return [annotation]
    return [word for part in get_args(annotation) for word in _choices(part)]
