"""Language embeddings: a vector a language, added to every subword (Conneau & Lample 2019, section 3.1).

BERT and RoBERTa take them through `token_type_ids`: the rows that exist keep their meaning, languages are appended.
XLM has a table of its own, read through `langs`. The mapping from language to row is kept in the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interlace.core.errors import SettingsError, did_you_mean
from interlace.models.families import family_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor, nn

    from interlace.core.randomness import Generator

RECORD = "interlace_languages"  # where a configuration keeps the mapping
FOLDED = "interlace_folded_language"


def language_ids(config: Any) -> dict[str, int]:
    """Language -> row of its embedding, by row; empty where there are none."""
    family = family_of(config)
    if family.language_input is None:
        return {}
    if family.name == "xlm" and not (config.n_langs > 1 and config.use_lang_emb):
        return {}
    own = getattr(config, RECORD, None) or getattr(config, "lang2id", None) or {}
    return dict(sorted(((str(language), int(row)) for language, row in own.items()), key=lambda pair: pair[1]))


@dataclass(frozen=True)
class LanguageMapping:
    """How the languages of a recipe come to those of a checkpoint.

    names: language of the recipe -> the checkpoint's name for it; both then stand for one embedding.
    copies: new language -> the one whose embedding it begins as.
    mean: whether other new languages begin as the mean of the checkpoint's languages, where it has some.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    mean: bool = False


def map_languages(model: Any, languages: Sequence[str], arrival: LanguageMapping) -> None:
    """Bring the names of a recipe to a checkpoint, and give each of `languages` an embedding, in place.

    Rows of the checkpoint keep their order and their names; the recipe's are kept beside them, so that what is exported
    is opened again under either.

    Raises:
        SettingsError: the checkpoint lacks a language that `arrival` names, has one that it renames, or its family
            cannot take language ids.
    """
    rows = language_ids(model.config)
    for language, theirs in arrival.names.items():
        _must_have(rows, theirs, f"model.language_names.{language}")
        if rows.get(language, rows[theirs]) != rows[theirs]:
            message = f"model.language_names.{language} = {theirs!r}: the checkpoint has a {language!r} of its own"
            raise SettingsError(f"{message}; leave this out, or call the language otherwise in the recipe")
    if arrival.names:
        setattr(model.config, RECORD, {**rows, **{language: rows[name] for language, name in arrival.names.items()}})
        rows = language_ids(model.config)
    for language, other in arrival.copies.items():
        _must_have(rows, other, f"model.language_copies.{language}")
    new = [language for language in dict.fromkeys(languages) if language not in rows]
    add_languages(model, new)
    if not new or not rows:
        return
    weight = _table(model).weight.data
    mean = weight[sorted(set(rows.values()))].mean(0)
    for language in new:
        if language in arrival.copies:
            weight[language_ids(model.config)[language]] = weight[rows[arrival.copies[language]]]
        elif arrival.mean:
            weight[language_ids(model.config)[language]] = mean


def _must_have(rows: Mapping[str, int], language: str, where: str) -> None:
    if language not in rows:
        hint = did_you_mean(language, rows) if rows else "; it has no language embeddings at all"
        raise SettingsError(f"{where}: the checkpoint knows no language {language!r}{hint}")


def add_languages(model: Any, languages: Sequence[str], rng: Generator | None = None) -> None:
    """Give the languages that have none yet an embedding each, in place.

    A new language starts as a copy of the row that a caller without ids gets, so that a pre-trained model computes at
    first what it computed before; with an `rng`, noise of the model's initial width is added.

    Raises:
        SettingsError: the family cannot take language ids.
    """
    import torch

    config = model.config
    rows = language_ids(config)
    new = [language for language in dict.fromkeys(languages) if language not in rows]
    if not new:
        return
    table = _table(model)
    start, width = table.weight.shape
    values = _start(config, table).repeat(len(new), 1)
    if rng is not None:
        noise = rng.normal(scale=_spread(config), size=(len(new), width))
        values = values + torch.from_numpy(noise).to(values)
    _grow(table, values)
    _record(config, {**rows, **{language: start + number for number, language in enumerate(new)}}, start + len(new))


def equalize_segments(model: Any) -> None:
    """Make the segment rows of a fresh model equal, in place: training never shows them.

    A tokenizer that numbers the sides of a pair must not add an untrained vector to one of them.
    """
    table = family_of(model.config).language_embedding(model)
    if table is not None and family_of(model.config).name != "xlm":
        rows = [row for row in range(1, len(table.weight)) if row not in language_ids(model.config).values()]
        table.weight.data[rows] = table.weight.data[0].clone()


def fold_weights(model: Any, tensors: dict[str, Tensor], language: str) -> dict[str, Tensor]:
    """Weights with which a caller who gives no ids gets the logits of `language`; callers with ids get what they did.

    Token types: row 0 becomes the language's vector, and the other segment rows keep their distance from row 0, so
    that a tokenizer that numbers the sides of a pair 0 and 1 gets that language on both. XLM adds no vector without
    ids, so there the vector moves into the position table and out of the rows of the languages.

    Args:
        model: a transformers model.
        tensors: state of the model by name; not changed.
        language: one that the model has an embedding for.

    Raises:
        SettingsError: the model has no embedding for `language`.
    """
    rows = language_ids(model.config)
    check_fold_language(rows, language)
    family = family_of(model.config)
    prefix = model.base_model_prefix
    name = f"{prefix}.{family.language_table}.weight"
    table = tensors[name].clone()
    vector = table[rows[language]].clone()
    if family.name == "xlm":
        places = f"{prefix}.position_embeddings.weight"
        return {**tensors, name: table - vector, places: tensors[places] + vector}
    segments = [row for row in range(len(table)) if row not in rows.values()]
    table[segments] += vector - table[0]
    table[0] = vector  # exactly, not up to the rounding of the sum above
    return {**tensors, name: table}


def check_fold_language(rows: Mapping[str, int], language: str) -> None:
    """Refuse to fold a language without an embedding; `rows` are those of `language_ids`."""
    if language not in rows:
        hint = did_you_mean(language, rows)
        raise SettingsError(f"fold_language: the model has no language embedding for {language!r}{hint}")


def _table(model: Any) -> nn.Embedding:
    family = family_of(model.config)
    table = family.language_embedding(model)
    if table is None:
        what = "an XLM checkpoint without them" if family.name == "xlm" else f"the {family.name} family"
        raise SettingsError(f"{what} cannot take language embeddings; set model.languages = 'none'")
    return table


def _start(config: Any, table: nn.Embedding) -> Tensor:
    """(1, H) what a caller without ids gets added: row 0, and with XLM nothing."""
    first = table.weight.detach()[:1]
    return first * 0 if family_of(config).name == "xlm" else first


def _spread(config: Any) -> float:
    return float(getattr(config, "initializer_range", 0.02))


def _grow(table: nn.Embedding, values: Tensor) -> None:
    import torch
    from torch import nn

    table.weight = nn.Parameter(torch.cat([table.weight.detach(), values]), requires_grad=table.weight.requires_grad)
    table.num_embeddings = len(table.weight)


def _record(config: Any, rows: dict[str, int], size: int) -> None:
    if family_of(config).name == "xlm":
        config.n_langs = size
        config.lang2id = rows
        # The first name of a row is the checkpoint's own; others are a recipe's names for the same language.
        config.id2lang = {str(row): language for language, row in reversed(rows.items())}
        config.id2lang = dict(sorted(config.id2lang.items(), key=lambda pair: int(pair[0])))
    else:
        config.type_vocab_size = size
    setattr(config, RECORD, rows)
