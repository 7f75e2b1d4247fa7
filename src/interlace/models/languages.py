"""Language embeddings: one vector per language, added to every token (Conneau & Lample 2019, section 3.1).

BERT and RoBERTa take them as `token_type_ids`: existing rows keep their meaning and languages are appended. XLM has a
language table of its own, read through `langs`. The configuration stores the mapping from language to row.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.randomness import Generator
from interlace.models.families import LANGUAGES_KEY, family_of, language_ids

# of a configuration: the language that callers without ids get
FOLDED_KEY = "interlace_folded_language"


def map_languages(model: Any, languages: Sequence[str], names: Mapping[str, str]) -> None:
    """Add a recipe's language names to a checkpoint and give each of `languages` an embedding, in place.

    The checkpoint's rows keep their order and names. The recipe's names are stored next to them, so an exported model
    can be loaded under either. A new language starts as the mean of the checkpoint's languages, if it has any.

    names: language of the recipe -> the checkpoint's name for it; both then mean the same embedding.
    """
    rows = language_ids(model.config)
    named = {}
    for language, name in names.items():
        check_language(rows, name, f"model.language_names.{language}")
        if rows.get(language, rows[name]) != rows[name]:
            raise SettingsError(
                f"model.language_names.{language} = {name!r}: the checkpoint has its own {language!r}; remove this "
                "name, or rename the language in the recipe"
            )
        named[language] = rows[name]
    if named:
        rows = {**rows, **named}
        setattr(model.config, LANGUAGES_KEY, rows)
    new = [language for language in dict.fromkeys(languages) if language not in rows]
    add_languages(model, new)
    if new and rows:
        weight = _embedding(model).weight.data
        weight[-len(new) :] = weight[sorted(set(rows.values()))].mean(0)


def add_languages(model: Any, languages: Sequence[str], rng: Generator | None = None) -> None:
    """Give each language without an embedding a new one, in place.

    A new embedding copies the row that callers without ids get, so the model's outputs do not change. With an `rng`,
    noise with the standard deviation of the model's initialization is added.
    Raise a SettingsError if the family has no language ids.
    """
    config = model.config
    rows = language_ids(config)
    new = [language for language in dict.fromkeys(languages) if language not in rows]
    if not new:
        return
    is_xlm = family_of(config).name == "xlm"
    embedding = _embedding(model)
    weight = embedding.weight.detach()  # (languages, H)
    size, width = weight.shape
    default = weight[:1] * 0 if is_xlm else weight[:1]  # XLM adds nothing without ids
    values = default.repeat(len(new), 1)
    if rng is not None:
        noise = rng.normal(
            scale=float(getattr(config, "initializer_range", 0.02)), size=(len(new), width)
        )
        values = values + torch.from_numpy(noise).to(values)
    grown = torch.cat([weight, values])
    embedding.weight = nn.Parameter(grown, requires_grad=embedding.weight.requires_grad)
    embedding.num_embeddings = len(grown)
    for number, language in enumerate(new):
        rows[language] = size + number
    if is_xlm:
        config.n_langs = len(grown)
        config.lang2id = rows
        # of several names of a row the first, the checkpoint's own, is the one to keep
        names = {row: language for language, row in reversed(rows.items())}
        config.id2lang = {str(row): names[row] for row in sorted(names)}
    else:
        config.type_vocab_size = len(grown)
    setattr(config, LANGUAGES_KEY, rows)


def equalize_segments(model: Any) -> None:
    """Make the segment embeddings of a fresh model equal, in place, because pre-training never uses them.

    A tokenizer that numbers the two sides of a pair must not add an untrained vector to one of them.
    """
    family = family_of(model.config)
    embedding = family.language_embedding(model)
    if embedding is None or family.name == "xlm":
        return
    language_rows = language_ids(model.config).values()
    segments = [row for row in range(1, len(embedding.weight)) if row not in language_rows]
    embedding.weight.data[segments] = embedding.weight.data[0].clone()


def fold_weights(model: Any, tensors: dict[str, Tensor], language: str) -> dict[str, Tensor]:
    """Return weights with which callers without language ids get the logits of `language`; others get the same as now.

    Token types: row 0 becomes the language's vector and the other segment rows keep their difference to row 0, so a
    tokenizer that numbers the sides of a pair 0 and 1 gets that language on both. XLM adds no vector without ids, so
    the vector moves into the position embeddings and is subtracted from the language rows.
    Raise a SettingsError if `language` has no embedding.

    tensors: state of the model by name; not changed. language: one that the model has an embedding for.
    """
    rows = language_ids(model.config)
    check_language(rows, language, "fold_language")
    family = family_of(model.config)
    prefix = model.base_model_prefix
    name = f"{prefix}.{family.language_path}.weight"
    table = tensors[name].clone()
    vector = table[rows[language]].clone()
    if family.name == "xlm":
        positions = f"{prefix}.position_embeddings.weight"
        return {**tensors, name: table - vector, positions: tensors[positions] + vector}
    segments = [row for row in range(len(table)) if row not in rows.values()]
    table[segments] += vector - table[0]
    table[0] = vector  # exactly, without the rounding of the sum above
    return {**tensors, name: table}


def check_language(rows: Mapping[str, int], language: str, where: str) -> None:
    """Raise a SettingsError that names a setting if `rows`, as `language_ids` returns them, lack its language."""
    if language not in rows:
        hint = "; it has no language embeddings"
        if rows:
            hint = did_you_mean(language, rows)
        raise SettingsError(
            f"{where}: the model has no language embedding for {language!r}{hint}"
        )


def _embedding(model: Any) -> nn.Embedding:
    family = family_of(model.config)
    embedding = family.language_embedding(model)
    if embedding is None:
        raise SettingsError(
            f"this {family.name} model cannot take language embeddings; set model.languages = 'none'"
        )
    return embedding
