"""From laid-out rows to what an encoder reads: ids, and only where needed a mask, positions and languages."""

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
    """The encoder's arrays for rows of one side or two; `languages` names the language of each side.

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
    """Real subwords in each language, specials counted with the side they stand on."""
    if len(set(languages)) == 1:
        return {languages[0]: layout.tokens}
    second = int((layout.sides == 1).sum())  # padding counts as the first side's
    return {languages[0]: layout.tokens - second, languages[1]: second}


def language_id(traits: Traits, language: str) -> int:
    """The id of a language's embedding."""
    if language not in traits.languages:
        hint = did_you_mean(language, traits.languages)
        raise SettingsError(f"the model has no language embedding for {language!r}{hint}")
    return traits.languages[language]


def resolve_language_ids(switch: BoolOrAuto, traits: Traits, what: str) -> bool:
    """Whether to feed language ids; asking for them on a model without is refused."""
    has = traits.language_input is not None and bool(traits.languages)
    if switch is True and not has:
        message = f"{what}: language_ids = true, but this {traits.family} model has no language embeddings"
        raise SettingsError(f"{message}; set model.languages = 'embeddings' or {what}.language_ids = 'auto'")
    return has if switch == "auto" else switch


def resolve_reset_positions(switch: BoolOrAuto, traits: Traits, what: str) -> bool:
    """Whether the second side's positions restart: by default only where language ids tell the sides apart.

    Without language embeddings a restart makes the two first words of a pair look alike (requirements X10). Asking for
    it where only some layers would follow is refused.
    """
    if switch is True and not traits.restarts:
        message = (
            f"{what}: reset_positions = true, but the local layers of {traits.family} models go by place in the row"
        )
        raise SettingsError(f"{message}; set {what}.reset_positions = 'auto'")
    if switch == "auto":
        return traits.restarts and traits.language_input is not None and bool(traits.languages)
    return switch
