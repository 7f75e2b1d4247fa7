"""What a card says of a translation model: directions, how it is opened, and how its decoder is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.experiments._card_text import code_block, leaf
from interlace.experiments._directions import directions
from interlace.models.families import SEQ2SEQ

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interlace.experiments import Recipe

_PLAIN = SEQ2SEQ[0]


def library(config: Mapping[str, Any]) -> str:
    """Whose class opens a model with this configuration."""
    return "interlace" if config.get("model_type") == SEQ2SEQ[1] else "transformers"


def origin(recipe: Recipe) -> str:
    """Where the decoder comes from, where that is not where the encoder does."""
    decoder = recipe.model.decoder
    if not recipe.seq2seq or decoder is None:
        return ""
    if decoder.shape is not None or decoder.take == "none":
        trained = decoder.table == "shared" and recipe.model.start is not None and recipe.model.take != "none"
        but = ", but for the table of subwords, which is the encoder's" if trained else ""
        return f" Its decoder was drawn fresh{but}."
    what = "" if decoder.take == "whole" else "the table of subwords of "
    return f" Its decoder began from {what}`{leaf(decoder.start)}`." if decoder.start is not None else ""


def loading(recipe: Recipe, config: Mapping[str, Any], place: str) -> Iterator[str]:
    """Paragraphs and code."""
    learnt = list(directions(recipe))
    source, target = learnt[0] if learnt else (recipe.languages[0], recipe.languages[-1])
    if learnt:
        yield f"It translates {', '.join('-'.join(direction) for direction in learnt)}."
    yield code_block("sh", f"interlace translate {place} --from {source} --to {target} < in.txt > out.txt")
    yield from _plain(config, target, place) if config.get("model_type") == _PLAIN else _own(place)


def _plain(config: Mapping[str, Any], target: str, place: str) -> Iterator[str]:
    yield f"In plain transformers, the decoder's first subword says which language it writes, such as `<2{target}>`:"
    rows = config.get("encoder", {}).get("interlace_languages") or {}
    given = [
        "from transformers import AutoTokenizer, EncoderDecoderModel",
        f'model = EncoderDecoderModel.from_pretrained("{place}")',
        f'tokenizer = AutoTokenizer.from_pretrained("{place}")',
        'read = tokenizer("...", return_tensors="pt")',
        f'start = tokenizer.convert_tokens_to_ids("<2{target}>")',
        f"written = model.generate(**read, decoder_start_token_id=start, num_beams=4, max_new_tokens={_most(config)})",
        "print(tokenizer.batch_decode(written, skip_special_tokens=True))",
    ]
    yield code_block("python", *given)
    if rows:
        ids = ", ".join(f"{language} {row}" for language, row in sorted(rows.items(), key=lambda pair: pair[1]))
        yield (
            f"The model adds a vector of the language to every subword on both sides. Give their numbers as "
            f"`token_type_ids`, as long as what is read, and as `decoder_token_type_ids`, one a row: {ids}."
        )


def _most(config: Mapping[str, Any]) -> int:
    """Subwords that may follow the first; RoBERTa keeps the positions up to the padding's."""
    decoder = config.get("decoder", {})
    kept = int(decoder.get("pad_token_id") or 0) + 1 if "roberta" in str(decoder.get("model_type")) else 0
    return min(100, int(decoder.get("max_position_embeddings", 101)) - kept - 1)


def _own(place: str) -> Iterator[str]:
    yield "transformers has no such decoder: interlace opens the model, and transformers its encoder."
    yield code_block(
        "python",
        "from interlace.models.build import load",
        "from transformers import AutoModel, AutoTokenizer",
        f'model = load("{place}")',
        f'encoder = AutoModel.from_pretrained("{place}", subfolder="encoder")',
        f'tokenizer = AutoTokenizer.from_pretrained("{place}", subfolder="encoder")',
    )
