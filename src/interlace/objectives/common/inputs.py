"""Build encoder inputs from padded sequences: ids and, only where needed, a mask, positions and language ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.core.errors import SettingsError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data.layout import Layout
    from interlace.models.families import Traits

BoolOrAuto = bool | Literal["auto"]


def encoder_inputs(
    layout: Layout,
    traits: Traits,
    languages: tuple[str, ...],
    *,
    restart: bool = False,
    language_ids: bool = True,
) -> dict[str, NDArray[Any]]:
    """Return the encoder's arrays for sequences of one or two sides.

    Args:
        layout: the padded sequences.
        traits: of the model.
        languages: the language of each side.
        restart: restart position ids on the second side.
        language_ids: feed language ids if the model has language embeddings.

    Raises:
        SettingsError: the model has language embeddings, but none for one of `languages`.
    """
    inputs: dict[str, NDArray[Any]] = {"input_ids": layout.ids}
    if not layout.real.all():
        inputs["attention_mask"] = layout.real.astype(np.int64)
    if restart:
        inputs["position_ids"] = layout.positions(traits.first_position, restart=True)
    if language_ids and traits.language_input is not None and traits.languages:
        ids = np.array([language_id(traits, language) for language in languages], dtype=np.int64)
        inputs[traits.language_input] = ids[np.minimum(layout.sides, len(ids) - 1)]
    return inputs


def tokens_by_language(layout: Layout, languages: tuple[str, ...]) -> dict[str, int]:
    """Return the number of tokens in each language; special tokens count for their side."""
    if len(set(languages)) == 1:
        return {languages[0]: layout.tokens}
    second = int((layout.sides == 1).sum())  # the side of padding is 0
    return {languages[0]: layout.tokens - second, languages[1]: second}


def language_id(traits: Traits, language: str) -> int:
    """Return the index of a language's embedding.

    Raises:
        SettingsError: the model has no embedding for the language.
    """
    if language not in traits.languages:
        hint = did_you_mean(language, traits.languages)
        raise SettingsError(f"the model has no language embedding for {language!r}{hint}")
    return traits.languages[language]


def resolve_language_ids(setting: BoolOrAuto, traits: Traits, name: str) -> bool:
    """Return whether to feed language ids; `name` is the section named in errors.

    Raises:
        SettingsError: the setting is true and the model has no language embeddings.
    """
    has = traits.language_input is not None and bool(traits.languages)
    if setting is True and not has:
        message = f"{name}: language_ids = true, but this {traits.family} model has no language embeddings"
        raise SettingsError(f"{message}; set model.languages = 'embeddings' or {name}.language_ids = 'auto'")
    return has if setting == "auto" else setting


def resolve_reset_positions(setting: BoolOrAuto, traits: Traits, name: str) -> bool:
    """Return whether positions restart on the second side; by default only if language ids distinguish the sides.

    Without language embeddings, restarted positions make the first words of both sides look alike.

    Raises:
        SettingsError: the setting is true and some layers of the model use relative positions only.
    """
    if setting is True and not traits.restarts:
        message = f"{name}: reset_positions = true, but local layers of {traits.family} models ignore position ids"
        raise SettingsError(f"{message}; set {name}.reset_positions = 'auto'")
    if setting == "auto":
        return traits.restarts and traits.language_input is not None and bool(traits.languages)
    return setting
