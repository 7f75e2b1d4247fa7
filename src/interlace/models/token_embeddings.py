"""Token embeddings: of a checkpoint with a changed vocabulary, and from pre-trained subword vectors.

A new token starts as the mean of the subwords that spelled it before, so the model first reads and predicts it much
like its pieces. Where nothing could spell it, or by choice, it is drawn around the mean of all embeddings (Hewitt
2021, "Initializing New Word Embeddings for Pretrained Language Models", in its diagonal form).

Subword vectors (EMB in XLM's table 2) are learned by fastText on the subwords of both languages' text together (Lample
et al. 2018b, section 4). XLM's code copies them into the embeddings of both sides and into the head.

Legend: R rows of the embeddings, H width, N new tokens, n subwords with a vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist, user_path
from interlace.core.ragged import FloatArray, IntArray, Ragged
from interlace.core.randomness import Purpose, generator
from interlace.embeddings import SUBWORDS, WordVectors, is_text_file
from interlace.models.settings import ModelSettings, Shape

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.data.vocab import Origin, Vocab
    from interlace.models.backbone import Backbone

_DRAWS = 2  # key of the random numbers; 1 is that of language embeddings


def fit_embeddings(model: Any, origin: Origin, seed: int) -> None:
    """Make the embeddings and the vocabulary head of a model fit a vocabulary that was made from its own, in place.

    Kept tokens keep their rows. A new one starts as the mean of the subwords that spelled it; one that none spelled is
    drawn around the mean of all embeddings, with their spread (Hewitt 2021).

    Embeddings with more rows than the tokenizer has ids have spare rows; new tokens take the first of them.
    """
    import torch

    if origin.is_trimmed:
        kept = torch.from_numpy(origin.kept)
        kept_rows = [tensor[kept] for tensor in _vocabulary_tensors(model)]
        _resize(model, len(kept))
        for tensor, rows in zip(_vocabulary_tensors(model), kept_rows, strict=True):
            tensor[:] = rows
    if origin.size > len(model.get_input_embeddings().weight):
        _resize(model, origin.size)
    if not len(origin.pieces):
        return
    rng = generator(Purpose.INIT, seed, step=_DRAWS)
    for tensor in _vocabulary_tensors(model):
        old = tensor[: origin.base]
        tensor[origin.base : origin.size] = _new_rows(old, origin.pieces, rng)


def _resize(model: Any, size: int) -> None:
    """Change the number of rows; new ones are arbitrary."""
    import torch

    with torch.random.fork_rng(devices=[]):
        model.resize_token_embeddings(size, mean_resizing=False)


def _vocabulary_tensors(model: Any) -> list[Tensor]:
    """Return what has a row for each token, without gradients: embeddings, head and its bias, tied ones once."""
    from interlace.models.backbone import unused_bias

    head = model.get_output_embeddings()
    tensors = [
        model.get_input_embeddings().weight,
        head.weight,
        getattr(head, "bias", None),
        unused_bias(model),
    ]
    by_memory = {tensor.data_ptr(): tensor.data for tensor in tensors if tensor is not None}
    return list(by_memory.values())


def _new_rows(old: Tensor, pieces: Ragged, rng: np.random.Generator) -> Tensor:
    """Return (N, H) initial rows, or (N,) of a bias, which is never drawn."""
    import torch
    from torch.nn.functional import embedding_bag

    ids = torch.from_numpy(pieces.flat.astype(np.int64))
    starts = torch.from_numpy(pieces.offsets[:-1].astype(np.int64))
    table = old.view(len(old), -1)  # (R, H), of a bias (R, 1)
    rows = embedding_bag(ids, table, starts, mode="mean")
    unspelled = torch.from_numpy(pieces.lengths == 0)  # (N,)
    rows[unspelled] = table.mean(0)
    if old.ndim > 1:
        noise = torch.from_numpy(rng.standard_normal(rows.shape)).to(old)
        rows[unspelled] += noise[unspelled] * old.std(0)
    return rows.view(-1, *old.shape[1:])


def initialize_from_vectors(
    backbone: Backbone, fresh: list[Any], settings: ModelSettings, vocab: Vocab
) -> None:
    """Copy the vectors of `settings.vectors` into the embeddings of fresh models, in place.

    Tokens without a vector keep their random rows. The backbone's `notes` record their number.

    backbone: the whole model. fresh: its transformers models whose embeddings do not come from a checkpoint.
    """
    import torch

    vectors = read_vectors(settings)
    rows, values = _matching(vectors, vocab, settings.vectors)  # (n,), (n, H)
    spread = float(np.sqrt(np.square(values, dtype=np.float64).mean()))
    if not 0 < spread < np.inf:
        raise DataError(
            f"{settings.vectors}: the vectors are all zero, or contain values that are not finite"
        )
    weights = {}  # tied ones once
    for model in fresh:
        for module in (model.get_input_embeddings(), model.get_output_embeddings()):
            weights[module.weight.data_ptr()] = module.weight
    with torch.no_grad():
        for weight in weights.values():
            scale = 1.0
            if settings.vectors_spread == "drawn":
                # of each tensor: a head may be drawn otherwise
                scale = float(weight.square().mean().sqrt()) / spread
            scaled = torch.from_numpy(values * np.float32(scale))
            weight[torch.from_numpy(rows)] = scaled.to(weight)
    share = f"{len(rows):,} of {backbone.vocab_size:,} token embeddings"
    backbone.notes += (
        f"{share} start as vectors of {settings.vectors}; the others are random",
    )


def read_vectors(settings: ModelSettings) -> WordVectors:
    """Return the vectors of `settings.vectors`; raise a SettingsError if they are wider or narrower than the model."""
    check_vectors(settings)
    name = str(settings.vectors)
    path = user_path(name)
    width = (settings.shape or Shape()).width
    vectors = (
        WordVectors.read(path, SUBWORDS)
        if is_text_file(name)
        else WordVectors.load(path, SUBWORDS)
    )
    if vectors.width != width:
        raise SettingsError(
            f"model.vectors = {name!r}: the vectors have width {vectors.width}, the model {width}; set "
            "model.shape.width, or embeddings.skipgram.width where the vectors are learned"
        )
    return vectors


def check_vectors(settings: ModelSettings) -> None:
    """Raise a DataError unless `settings.vectors` are those of a recipe or in a text file, without reading them."""
    if is_text_file(str(settings.vectors)):
        return
    folder = user_path(str(settings.vectors))
    must_exist(
        folder / f"{SUBWORDS}.safetensors",
        "file of vectors, as in the folder 'vectors' of a run with embeddings.units = 'subwords'",
    )


def _matching(
    vectors: WordVectors, vocab: Vocab, name: str | None
) -> tuple[IntArray, FloatArray]:
    """Return (n,) ids of the tokens that have a vector, and their (n, H) vectors."""
    id_of = vocab.tokenizer.get_vocab(with_added_tokens=True)
    ids = np.array([id_of.get(word, -1) for word in vectors.words], np.int64)
    ids[np.isin(ids, vocab.special_ids)] = -1
    if not (ids >= 0).any():
        raise DataError(
            f"{name}: none of its {len(vectors):,} vectors belongs to a token of the model; name the tokenizer that "
            "they were learned with in vocab.start"
        )
    return ids[ids >= 0], vectors.vectors[ids >= 0]
