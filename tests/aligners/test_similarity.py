"""Links from vectors: by hand where the vectors are given, then from real (tiny) encoders."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from interlace.aligners import similarity
from interlace.aligners.similarity import FittedSimilarity, Similarity, Units
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape, load
from interlace.models.settings import Shape
from interlace.text.running import running_text
from little_pairs import word_pairs

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "x", "y", "w", "##b", "##y", "书"]
VECTORS = {
    "a": (1, 0),
    "b": (0.8, 0.6),
    "c": (0, 1),
    "##b": (0, 1),
    "x": (1, 0),
    "y": (0, 1),
    "w": (0.96, 0.28),
}


def wordpieces(pieces=tuple(PIECES)):
    tokenizer = Tokenizer(
        models.WordPiece({piece: n for n, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    roles = {"pad": "[PAD]", "unk": "[UNK]", "begin": "[CLS]", "end": "[SEP]"}
    return Vocab(tokenizer, roles, {}, "pieces")


@dataclass
class Table:
    """An encoder whose vectors are known: those of a table, whatever stands around."""

    vocab: Vocab
    scale: float = 1.0
    max_length: int = 20

    def units(self, sentences):
        table = (
            np.array([VECTORS.get(piece, (-1, -1)) for piece in PIECES], np.float32)
            * self.scale
        )
        kept = Ragged.from_lengths(sentences.ids.flat, sentences.lengths)
        vectors = torch.from_numpy(table[kept.padded(0)])
        return Units(vectors, torch.from_numpy(sentences.words.padded(-1)))


def links(source, target, scale=1.0, **settings):
    fitted = FittedSimilarity(Similarity(**settings), Table(wordpieces(), scale))
    found = fitted.align(word_pairs([source], [target]))
    return [tuple(link) for link in found.links[0].tolist()], found.confidence


# a: (1, 0)  b: (.8, .6)  c: (0, 1)  x: (1, 0)  y: (0, 1)  w: (.96, .28), so the cosines are
#        x    y    w
#   a    1    0    .96
#   b    .8   .6   .936
#   c    0    1    .28


def test_argmax_links_mutually_most_similar_words():
    found, confidence = links("a b c", "x y", method="argmax")
    assert found == [(0, 0), (2, 1)]
    np.testing.assert_allclose(confidence, [1, 1])


def test_itermax_links_words_left_over_to_linked_ones():
    """In the second round b is compared with x at .9 x .9 and with y at .9 x .8; a-x and c-y are out."""
    found, confidence = links("a b c", "x y", method="itermax")
    assert found == [(0, 0), (1, 0), (2, 1)]
    np.testing.assert_allclose(confidence, [1, 0.9, 1], atol=1e-6)
    assert links("a b b c", "x y", method="itermax")[0] == [(0, 0), (1, 0), (3, 1)]


def test_softmax_asks_both_directions():
    """Products of c, a, b with x, y at scale 3: 0 9, 9 0, 7.2 5.4.

    Forward: c .0001 .9999, a the reverse, b .858 .142. Backward: x from c .0001, a .858, b .142; y from c .973, b .027.
    """
    found, confidence = links("c a b", "x y", scale=3.0, threshold=0.001)
    assert found == [(0, 1), (1, 0), (2, 0), (2, 1)]
    expected = np.sqrt(
        [0.99988 * 0.97335, 0.99988 * 0.85804, 0.85815 * 0.14183, 0.14185 * 0.02660]
    )
    np.testing.assert_allclose(confidence, expected, rtol=1e-3)
    assert links("c a b", "x y", scale=3.0, threshold=0.1)[0] == [(0, 1), (1, 0), (2, 0)]


def test_words_are_linked_by_any_subword_the_surest():
    """The word ab is a and ##b, which points like y."""
    assert links("ab", "x y", method="argmax")[0] == [(0, 0), (0, 1)]
    found, confidence = links("ab", "wy", scale=3.0, threshold=0.001)
    assert found == [(0, 0)]
    assert confidence[0] > 0.9


def test_unknown_words_are_linked_and_words_without_subwords_are_not():
    found, _ = links("\x01 zzz a", "qqq x", method="argmax")
    assert found == [(1, 0), (2, 1)]
    assert links("\x01", "x", method="softmax")[0] == []


@pytest.fixture
def float32(monkeypatch):
    """Compute as on a processor without bfloat16."""
    monkeypatch.setattr(similarity, "has_fast_bfloat16", lambda: False)


LINES = {"en": ["the doctor reads letters", "a cat sleeps"], "zh": ["医生读信。", "猫睡觉"]}
FAMILIES = {"bert": ("en", "zh"), "roberta": (), "modernbert": ()}


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({language: lines * 20 for language, lines in LINES.items()}, size=400)


@pytest.fixture(scope="module")
def start(vocab, tmp_path_factory):
    """Makes a checkpoint, once a family."""
    made = {}

    def make(family="bert"):
        if family not in made:
            made[family] = tmp_path_factory.mktemp("checkpoints") / family
            shape = Shape(family=family, layers=4, width=16, heads=2, max_length=24)
            backbone = from_shape(shape, vocab, FAMILIES[family], seed=0)
            # fresh vectors are all but equal, where a real model's differ
            with torch.no_grad():
                for weight in backbone.parameters():
                    weight.add_(
                        0.3
                        * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
                    )
            backbone.save_pretrained(made[family], vocab)
        return str(made[family])

    return make


REAL = word_pairs(
    ["the doctor reads letters", "", "a cat sleeps ."],
    ["医生 读 信 。", "猫", "猫 睡觉"],
    ("en", "zh"),
)


def test_the_layer_with_most_mutually_nearest_subwords_is_chosen(start, monkeypatch, caplog):
    """Only in layer 2 the subwords at a position are similar on both sides; the vectors of other layers are noise."""
    rng = np.random.default_rng(0)
    table = torch.tensor(rng.normal(size=(24, 16)), dtype=torch.float32)
    real_layers = similarity.WordEncoder.layers

    def layers(self, sentences):
        units = real_layers(self, sentences)
        rows, length = units[0].words.shape
        noise = [
            torch.tensor(rng.normal(size=(rows, length, 16)), dtype=torch.float32)
            for _ in units
        ]
        noise[2] = table[:length] + 0.01 * noise[2]
        return [similarity.Units(vectors, units[0].words) for vectors in noise]

    assert Similarity(start=start(), layer=1).fit(REAL).encoder.layer == 1
    monkeypatch.setattr(similarity.WordEncoder, "layers", layers)
    with caplog.at_level("INFO", logger="interlace"):
        fitted = Similarity(start=start()).fit(REAL)
    assert fitted.encoder.layer == 2
    assert "similarity: layer 2: " in caplog.text


def test_bfloat16_changes_vectors_by_its_rounding_only(start, vocab, monkeypatch):
    sentences = vocab.encode(["the doctor reads letters", "a cat"], language="en")
    vectors = {}
    for half in (False, True):
        monkeypatch.setattr(similarity, "has_fast_bfloat16", lambda half=half: half)
        vectors[half] = (
            Similarity(start=start(), layer=3).fit(REAL).encoder.units(sentences).vectors
        )
    assert vectors[True].dtype == torch.float32
    difference = (vectors[True] - vectors[False]).abs()
    assert 0 < difference.max() < 0.1 * vectors[False].std()


def test_of_long_pairs_a_group_is_measured(start):
    fitted = Similarity(start=start(), layer=0, tokens_per_batch=16).fit(REAL)
    sample = fitted.encode_sample(word_pairs(["a cat"] * 50, ["猫"] * 50, ("en", "zh")))
    [(source_layers, _)] = sample.batches
    assert len(source_layers[0].words) < 50


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("layer", "expected"), [(0, 0), (2, 2), (-1, -1), (None, 3)])
def test_vectors_are_those_of_the_asked_layer(start, vocab, family, layer, expected):
    fitted = Similarity(start=start(family), layer=layer, standardize=False).fit(REAL)
    sentences = vocab.encode(["the doctor reads letters", "a cat"], language="en")
    units = fitted.encoder.units(sentences)
    whole = load(start(family), vocab).eval()
    for row, words in enumerate(sentences.words.to_lists()):
        ids = torch.tensor([[vocab.begin, *sentences.ids[row].tolist(), vocab.end]])
        inputs = {"input_ids": ids}
        if FAMILIES[family]:
            inputs["token_type_ids"] = torch.full_like(ids, whole.traits.languages["en"])
        with torch.inference_mode():
            states = whole.hidden_states(inputs)[expected][0]
        np.testing.assert_allclose(units.vectors[row, : ids.shape[1]], states, atol=1e-5)
        assert units.words[row].tolist()[1 : len(words) + 1] == words


@pytest.mark.parametrize("method", ["softmax", "argmax", "itermax"])
def test_links_do_not_depend_on_batches(start, method):
    whole = Similarity(start=start(), method=method).fit(REAL).align(REAL)
    parts = Similarity(start=start(), method=method, tokens_per_batch=16).fit(REAL).align(REAL)
    assert parts.links == whole.links
    np.testing.assert_allclose(parts.confidence, whole.confidence, rtol=1e-4)
    assert len(whole.links[0]) > 0


def test_every_word_of_an_unspaced_line_can_be_linked(start, vocab):
    """Some of them share a subword of the plain line, which is cut for them."""
    plain = running_text(REAL.target, REAL.target_types).text("zh")
    assert set(vocab.encode_text(plain).words[0].tolist()) != {0, 1, 2, 3}
    fitted = Similarity(start=start(), method="softmax", threshold=1e-6).fit(REAL)
    assert {j for _, j in fitted.align(REAL).links[0].tolist()} == {0, 1, 2, 3}


def test_words_beyond_the_longest_row_get_no_links(start, caplog):
    long = word_pairs(["the cat", "a " * 60], ["猫", "猫 " * 60], ("en", "zh"))
    fitted = Similarity(start=start(), method="argmax").fit(long)
    with caplog.at_level(logging.WARNING):
        found = fitted.align(long)
    assert "1 pairs are longer than 22 subwords" in caplog.text
    assert "pair 2" in caplog.text
    assert 0 < found.links[1].max() < 22


def test_the_model_sees_the_language_of_each_side(start):
    named = Similarity(start=start(), method="argmax").fit(REAL)
    swapped = named.align(replace(REAL, languages=("zh", "en")))
    assert not np.allclose(named.align(REAL).confidence[:3], swapped.confidence[:3])
    other = word_pairs(["a cat"], ["eine Katze"], ("en", "de"))
    with pytest.raises(SettingsError, match="no language embedding for 'de'"):
        Similarity(start=start()).fit(other).align(other)


def test_rejects_layers_and_devices_that_are_not_there(start):
    with pytest.raises(SettingsError, match="layer = 5, but the model has the layers 0 to 4"):
        Similarity(start=start(), layer=5).fit(REAL)
    with pytest.raises(SettingsError, match="device = 'abacus' cannot be used"):
        Similarity(start=start(), device="abacus").fit(REAL)


@pytest.mark.parametrize("method", ["softmax", "argmax", "itermax"])
def test_a_direction_that_all_words_share_changes_no_link(vocab, start, tmp_path, method):
    """In sentence encoders a few dimensions are so large that the cosines of all words lie near 1."""
    pairs = word_pairs(LINES["en"] * 8, LINES["zh"] * 8, ("en", "zh"))
    backbone = load(start(), vocab)
    with torch.no_grad():
        bias = backbone.model.bert.encoder.layer[-1].output.LayerNorm.bias
        bias[:3] += torch.tensor([300.0, -80.0, 40.0])
    shifted = backbone.save_pretrained(tmp_path / "shifted", vocab)
    links, expected = (
        Similarity(start=str(folder), layer=-1, method=method).fit(pairs).align(pairs).links
        for folder in (shifted, start())
    )
    assert links == expected
