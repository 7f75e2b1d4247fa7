"""Two made-up languages, word by word, and a translation model of them that is small enough for tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.vocab import Origin
from interlace.models.build import from_shape
from interlace.models.families import Traits
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import Shape
from little_rows import framed, sentences_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.models.seq2seq import Seq2Seq

WORDS = (
    "<s> <pad> </s> [M] <unk> <2en> <2de> the old doctor reads three letters der alte Arzt liest drei Briefe"
).split()
ID = {word: number for number, word in enumerate(WORDS)}
TARGETS = {"en": ID["<2en>"], "de": ID["<2de>"]}
VOCAB: Any = SimpleNamespace(
    size=len(WORDS), begin=0, pad=1, end=2, mask=3, unk=4,
    special_ids=np.arange(7), regular_ids=np.arange(7, len(WORDS)),
    targets=TARGETS, target=lambda language: (TARGETS[language],), frame=framed(0, 2), has_mask=True,
    origin=Origin.of(len(WORDS)),
    tokens=lambda ids: [WORDS[number] for number in ids],
)  # fmt: skip
PLAIN = Traits("bert", 64)
NAMED = Traits("bert", 64, {"en": 2, "de": 3}, "token_type_ids")


def sentences(lines: Sequence[str], language: str = "en") -> Sentences:
    """Rows of words between blanks, each a subword."""
    ids = Ragged.of([[ID[word] for word in line.split()] for line in lines])
    return sentences_of(ids, language)


def texts(ids: Any) -> list[str]:
    """Rows of ids as lines, padding left out."""
    return [
        " ".join(WORDS[number] for number in row if number != VOCAB.pad)
        for row in np.asarray(ids).tolist()
    ]


def model(
    family: str = "bert", languages: Sequence[str] = (), seed: int = 0, **shape: Any
) -> Seq2Seq:
    """A fresh one; without dropout unless `shape` asks for it."""
    small = {
        "layers": 1,
        "width": 16,
        "heads": 2,
        "max_length": 32,
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }
    encoder = from_shape(
        Shape(family=family, **{**small, **shape}), VOCAB, tuple(languages), seed
    )
    return join(encoder, fresh_decoder(encoder.model.config, seed))
