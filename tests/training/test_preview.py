"""Batches as people read them: what stands below what."""

import numpy as np

from interlace.experiments.preview import PreviewPair
from interlace.objectives import OBJECTIVES, Batch
from interlace.objectives.tlm import Tlm
from interlace.training.preview import preview_batch

EXAMPLE = PreviewPair()
VOCAB = EXAMPLE.vocab()
SOURCE, TARGET = (f"<s> {side} </s>".split() for side in (EXAMPLE.source, EXAMPLE.target))


def ids(*words):
    return np.array([[VOCAB.tokenizer.token_to_id(word) for word in words]])


def batch(words, at=(), labels=(), **more):
    rows, columns = np.zeros(len(at), np.int64), np.array(at, np.int64)
    found = ids(*labels)[0] if labels else np.zeros(0, np.int64)
    return Batch(
        {"input_ids": ids(*words)}, (rows, columns), found, {"mlm": len(at)}, len(words), **more
    )


def drawn(found, objective="mlm", languages=("en",)):
    return preview_batch(found, VOCAB, OBJECTIVES.build(objective), languages)


def lines(rendering, row=0):
    return {line.name: line.cells for line in rendering.rows[row]}


def test_shows_predictions_below_inputs():
    words = "<s> the <mask> doctor sea </s>".split()
    assert drawn(batch(words, (2, 4), ("old", "reads"))).text() == [
        "reads     <s>  the  [M]  doctor  sea    </s>",
        "predicts            old          reads",
        "counts: mlm 2",
    ]
    beside = batch("<s> old </s> alte </s>".split(), sides=np.array([[0, 0, 0, 1, 1]]))
    mixed = batch("<s> the alte doctor </s>".split(), sides=np.array([[0, 0, 1, 0, 0]]))
    alone = batch("<s> alte Arzt </s>".split(), sides=np.array([[1, 1, 1, 1]]))
    assert "language" not in lines(drawn(beside, "tlm", ("en", "de")))
    assert list(lines(drawn(mixed, "alm", ("en", "de")))["language"].values()) == [
        "en",
        "en",
        "de",
        "en",
        "en",
    ]
    assert set(lines(drawn(alone, "alm", ("en", "de")))["language"].values()) == {"de"}


def test_padding_is_not_shown():
    found = batch("<s> old </s> <pad> <pad>".split())
    found.inputs["attention_mask"] = np.array([[1, 1, 1, 0, 0]])
    assert lines(drawn(found))["reads"] == {0: "<s>", 1: "old", 2: "</s>"}
    tlm = Tlm(packed="halves", masking={"rate": 0}, max_length=64)
    (found,) = EXAMPLE.batches(tlm, VOCAB, embeddings=True).values()
    reads = lines(preview_batch(found, VOCAB, tlm, ("en", "de")))["reads"]
    assert list(reads.values()) == [*SOURCE, *TARGET]
    assert list(reads)[len(SOURCE)] == 32


def test_causal_previews_show_the_next_subword():
    found = batch("<s> the old </s>".split(), (0, 1), ("the", "old"))
    assert lines(drawn(found, "clm"))["next"] == {0: "the", 1: "old"}
    found = batch("<s> old </s>".split())
    found.inputs |= {
        "position_ids": np.array([[0, 1, 0]]),
        "token_type_ids": np.array([[0, 0, 1]]),
    }
    assert lines(drawn(found))["position"] == {0: "0", 1: "1", 2: "0"}
    assert lines(drawn(found))["language id"] == {0: "0", 1: "0", 2: "1"}
