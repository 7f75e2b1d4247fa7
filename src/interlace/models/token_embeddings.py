"""Rows for new subwords in a checkpoint's tables: embeddings, output weights where they are apart, output bias.

What a new subword begins as is the mean of the subwords that spelt it before, so that the model reads and predicts it
at first much as it did its pieces; where nothing could spell it, or by choice, it is drawn about the mean of the table
(Hewitt 2021, "Initializing New Word Embeddings for Pretrained Language Models", of which this is the diagonal form).

Legend: R rows of the table, H width, N new subwords.

Tables of subwords that begin with vectors which were learnt by themselves: EMB in XLM's table 2.

Lample et al. (2018b, section 4) learn them by fastText on the subwords of both languages' text together. XLM's code
copies them into the tables of both sides and into the head, as they are.

Legend: n subwords with a vector, H width.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interlace.core.errors import DataError, SettingsError
from interlace.core.randomness import Purpose, generator
from interlace.embeddings import SUBWORDS, WordVectors, is_text_file, languages_in
from interlace.models.settings import Shape
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from interlace.data.vocab import Extension, Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.settings import ModelSettings


NewTokens = Literal["mean", "random"]


_MULTIPLES = (128, 64, 8)  # what tables are padded to, where they are


_KEY = 2  # of the draws: 1 is that of language embeddings


def extend_embeddings(model: Any, extension: Extension, how: NewTokens, seed: int) -> None:
    """Grow the tables of a model for the subwords that `extension` tells of, in place.

    A table with more rows than its tokenizer has ids keeps spare rows: new subwords take the first of them, and the
    table grows to the next multiple of what it was padded to. One without stays without.
    """
    import torch

    rows = int(model.get_input_embeddings().weight.shape[0])
    wanted = _padded(rows, extension)
    if wanted > rows:
        with torch.random.fork_rng(devices=[]):  # rows are drawn there which are all replaced here
            model.resize_token_embeddings(wanted, mean_resizing=False)
    rng = generator(Purpose.INIT, seed, step=_KEY)
    with torch.no_grad():
        for table in _tables(model):
            new = _new_rows(table[: extension.base], extension, how, rng)
            spare = table[extension.base : rows].mean(0) if rows > extension.base else new.mean(0)
            table[extension.base : extension.size] = new
            table[max(rows, extension.size) :] = spare


def _padded(rows: int, extension: Extension) -> int:
    if extension.size <= rows:
        return rows
    if rows == extension.base:
        return extension.size
    multiple = next((multiple for multiple in _MULTIPLES if rows % multiple == 0), 1)
    return -(-extension.size // multiple) * multiple


def _tables(model: Any) -> list[Tensor]:
    """What has a row a subword, tied tensors once."""
    head = model.get_output_embeddings()
    found = [model.get_input_embeddings().weight, head.weight, getattr(head, "bias", None)]
    apart = {tensor.data_ptr(): tensor.data for tensor in found if tensor is not None}
    spare = getattr(
        getattr(getattr(model, "cls", None), "predictions", None) or getattr(model, "lm_head", None), "bias", None
    )
    if spare is not None:
        apart[spare.data_ptr()] = spare.data
    return list(apart.values())


def _new_rows(old: Tensor, extension: Extension, how: NewTokens, rng: np.random.Generator) -> Tensor:
    """(N, H) rows, or (N,) for a bias, which is the mean where it is not that of the pieces."""
    import torch

    numbers = len(extension.pieces)
    begun = old.mean(0).expand(numbers, *old.shape[1:]).clone()
    if old.ndim > 1:
        noise = rng.standard_normal((numbers, old.shape[1]))
        begun += torch.from_numpy(noise).to(old) * old.std(0)
    if how == "random":
        return begun
    spelt = extension.pieces.lengths > 0
    at = torch.from_numpy(extension.pieces.rows().astype(np.int64))
    ids = torch.from_numpy(extension.pieces.flat.astype(np.int64))
    means = torch.zeros_like(begun).index_add_(0, at, old[ids])
    counts = torch.from_numpy(np.maximum(extension.pieces.lengths, 1)).to(old).reshape(-1, *[1] * (old.ndim - 1))
    kept = torch.from_numpy(spelt).reshape(counts.shape)
    return torch.where(kept, means / counts, begun)


log = logging.getLogger(__name__)


_FEW = 0.1  # of a file's vectors: with fewer, it is likely one of another tokenizer


def initialize_from_vectors(backbone: Backbone, settings: ModelSettings, vocab: Vocab) -> None:
    """Give a fresh model's tables the vectors that `settings` name, in place; rows of other subwords stay drawn.

    A decoder that begins from a checkpoint keeps the table of that. `notes` and `begun` tell how many rows there are.

    Raises:
        SettingsError: the vectors have another width than the model.
        DataError: there are none, they are no subwords of `vocab`, or nothing but zeros.
    """
    import torch

    vectors = read_vectors(settings)
    rows, found = _matched(vectors, vocab, settings.vectors)
    spread, scales = _spread(found, settings), list[float]()
    with torch.no_grad():
        for table in _fresh_tables(backbone, settings):
            drawn = float(table.square().mean().sqrt())  # of each table its own: a head may be drawn otherwise
            scales.append(drawn / spread if settings.vectors_spread == "drawn" else 1.0)
            table[torch.from_numpy(rows)] = torch.from_numpy(found * np.float32(scales[-1])).to(table)
    of = backbone.vocab_size
    backbone.begun["vectors"] = {"rows": len(rows), "of": of, "scale": round(scales[0], 6)}
    told = f"{len(rows):,} of {of:,} rows of the table ({len(rows) / of:.1%}) begin with vectors of {settings.vectors}"
    backbone.notes += (f"{told}, times {scales[0]:.4g}; the other rows are drawn",)
    if len(rows) < _FEW * len(vectors):
        log.warning(
            "%s: of its %s vectors %s are of subwords that the model has; is the tokenizer theirs (vocab.start)?",
            settings.vectors, f"{len(vectors):,}", f"{len(rows):,}",
        )  # fmt: skip


def read_vectors(settings: ModelSettings) -> WordVectors:
    """The vectors that `settings` name, of the model's width.

    Raises:
        SettingsError: they have another width. DataError: there are none of subwords, or they are damaged.
    """
    check_vectors(settings)
    name = str(settings.vectors)
    path, width = Path(name).expanduser(), (settings.shape or Shape()).width
    vectors = WordVectors.read(path, SUBWORDS) if is_text_file(name) else WordVectors.load(path, SUBWORDS)
    if vectors.width != width:
        message = f"model.vectors = {name!r}: they are {vectors.width} wide, the model {width}"
        raise SettingsError(
            f"{message}; set model.shape.width, or embeddings.skipgram.width where the vectors are learnt"
        )
    return vectors


def check_vectors(settings: ModelSettings) -> None:
    """What can be told of the vectors without reading them, which may be long.

    Raises:
        DataError: there are none of subwords, as a recipe has learnt them or in a text file.
    """
    folder = Path(str(settings.vectors)).expanduser()
    if is_text_file(str(settings.vectors)):
        return
    if folder.is_file():
        raise DataError(
            f"{folder}: vectors are read from a folder that a recipe with embeddings.units = 'subwords' has written, "
            "or from the text format of fastText (.vec, .vec.gz or .txt), which its programs write beside .bin"
        )
    if folder.is_dir() and SUBWORDS not in (there := languages_in(folder)):
        run = languages_in(folder / "vectors")
        if SUBWORDS in run:
            raise DataError(f"{folder}: a run; name its vectors, {folder / 'vectors'}")
        held = f"holds vectors of words ({', '.join(there or run)})" if there or run else "holds no vectors"
        raise DataError(
            f"{folder}: {held}; a model's table begins with those of subwords, from a recipe with "
            "embeddings.units = 'subwords'"
        )
    must_exist(folder / f"{SUBWORDS}.safetensors", "file of vectors")


def _matched(vectors: WordVectors, vocab: Vocab, name: str | None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(n,) ids of the subwords that have a vector, and (n, H) those; by what the tokenizer calls them."""
    known = vocab.tokenizer.get_vocab(with_added_tokens=True)
    ids = np.array([known.get(word, -1) for word in vectors.words], np.int64)
    ids[np.isin(ids, vocab.special_ids)] = -1
    if not (ids >= 0).any():
        theirs, ours = (
            ", ".join(map(repr, vectors.words[:3])),
            ", ".join(map(repr, vocab.tokens(vocab.regular_ids[-3:]))),
        )
        raise DataError(
            f"{name}: has vectors of {theirs}, but no subword of the model, such as {ours}, is among its "
            f"{len(vectors):,}; name the tokenizer that they were learnt with in vocab.start"
        )
    return ids[ids >= 0], vectors.vectors[ids >= 0]


def _spread(vectors: NDArray[np.float32], settings: ModelSettings) -> float:
    """The root of the mean square of all their numbers."""
    spread = float(np.sqrt(np.square(vectors, dtype=np.float64).mean()))
    if not 0 < spread < np.inf:
        raise DataError(f"{settings.vectors}: the vectors of all subwords are zero, or hold what is no number")
    return spread


def _fresh_tables(backbone: Backbone, settings: ModelSettings) -> list[Tensor]:
    """What has a row a subword on the sides that are fresh, for reading and for predicting; tied tensors once."""
    found = [table for model in _fresh(backbone, settings) for table in _of(model)]
    return list({table.data_ptr(): table for table in found}.values())


def _fresh(backbone: Backbone, settings: ModelSettings) -> Iterator[Any]:
    from interlace.models.seq2seq import Seq2Seq

    yield backbone.model
    decoding = settings.decoder
    if isinstance(backbone, Seq2Seq) and (decoding is None or decoding.start is None or decoding.take == "none"):
        yield backbone.decoder.model


def _of(model: Any) -> Iterator[Tensor]:
    yield model.get_input_embeddings().weight
    yield model.get_output_embeddings().weight
