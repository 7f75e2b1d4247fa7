"""The checkpoint that is built from packages: files of weights are read as they are written."""

import importlib
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WIDTH, TOKENS = 32, 3


@pytest.fixture
def builder(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_e5_small")


def weights_file(tensors):
    """A model without layers: rows of (name, type, number of weights, bytes)."""
    sizes = (WIDTH, 0, 1, 2 * WIDTH, TOKENS, 4, 2)  # two types, four positions
    start = struct.pack("<4sI7ifi", b"E5S1", 1, *sizes, 1e-12, 32)
    start += struct.pack("<5iQ", 2, 0, 2, 1, 3, 5) + bytes(4 * 3 + 4 * 2) + b"a b c"
    start += struct.pack("<iI", 1, 6) + b"normal" + struct.pack("<i", len(tensors))
    first_byte = len(start) + sum(2 + len(name) + 21 for name, *_ in tensors)
    for name, kind, size, stored in tensors:
        start += struct.pack("<H", len(name)) + name.encode()
        start += struct.pack("<BIQQ", kind, size, first_byte, len(stored))
        first_byte += len(stored)
    return start + b"".join(stored for *_, stored in tensors)


def floats(rows):
    values = np.random.default_rng(rows).normal(size=(rows, WIDTH)).astype("<f4")
    return values, values.tobytes()


def test_blocks_of_four_bits_are_scaled_and_low_halves_come_first(builder):
    block = np.float16(0.5).tobytes() + bytes([0x9F] + [0x88] * 15)
    weights = builder.expanded(bytearray(block))
    assert weights.tolist() == [3.5] + [0.0] * 15 + [0.5] + [0.0] * 15


def test_a_file_of_weights_becomes_a_model(builder):
    block = np.float16(2).tobytes() + bytes([0x08] * 16)  # 0, then -16
    positions, stored_positions = floats(4)
    types, stored_types = floats(2)
    norm, stored_norm = floats(1)
    data = weights_file(
        [
            ("emb.word", 1, TOKENS * WIDTH, block * TOKENS),
            ("emb.pos", 0, 4 * WIDTH, stored_positions),
            ("emb.type", 0, 2 * WIDTH, stored_types),
            ("emb.ln.w", 0, WIDTH, stored_norm),
            ("emb.ln.b", 0, WIDTH, stored_norm),
        ]
    )
    embeddings = builder.model_of(data).embeddings
    assert embeddings.word_embeddings.weight.tolist() == [[0.0] * 16 + [-16.0] * 16] * TOKENS
    assert torch.equal(embeddings.position_embeddings.weight, torch.from_numpy(positions))
    assert torch.equal(embeddings.token_type_embeddings.weight, torch.from_numpy(types))
    assert torch.equal(embeddings.LayerNorm.bias, torch.from_numpy(norm[0]))


def test_another_format_is_an_error(builder):
    data = weights_file([])
    with pytest.raises(SystemExit, match="E5S2"):
        builder.model_of(b"E5S2" + data[4:])
