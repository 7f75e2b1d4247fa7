"""An encoder trained on its text: what it learns, how it resumes, what is saved."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from interlace.aligners import load_aligner
from interlace.aligners.gibbs import FittedGibbs, Gibbs
from interlace.aligners.self_trained import SelfTrained, training
from interlace.alignment.agreement import agreement
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import select_links
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from little_pairs import check_alignments, word_pairs

PAIRS = 120
TYPES = 40
LETTERS = np.array(list("abcdefghijklmnoprstuvw"))


def words_of(seed):
    """Words of four random letters."""
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(LETTERS, 4)) for _ in range(TYPES)]


ENGLISH = words_of(1)
GERMAN = words_of(2)


def translated_text():
    """Sentences of random words, in another order in the translation, with the links."""
    rng = np.random.default_rng(0)
    source = []
    target = []
    links = []
    for _ in range(PAIRS):
        words = rng.permutation(TYPES)[: rng.integers(3, 8)]
        order = rng.permutation(len(words))
        source.append(" ".join(ENGLISH[word] for word in words))
        target.append(" ".join(GERMAN[word] for word in words[order]))
        links.append(sorted((int(place), position) for position, place in enumerate(order)))
    return word_pairs(source, target), Ragged.of(links, width=2)


TEXT, GOLD = translated_text()


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A small encoder without training, but for half of the words their vectors are those of their translations."""
    vocab = Vocab.learn(
        {"en": [" ".join(ENGLISH)] * 20, "de": [" ".join(GERMAN)] * 20}, size=600
    )
    shape = Shape(
        layers=3, width=32, heads=2, max_length=64, dropout=0.0, attention_dropout=0.0
    )
    backbone = from_shape(shape, vocab, seed=0)
    english = vocab.encode_words(ENGLISH).flat[::2]
    german = vocab.encode_words(GERMAN).flat[::2]
    assert len(english) == len(german) == TYPES // 2  # each is a subword
    with torch.no_grad():
        backbone.input_embeddings[german] = backbone.input_embeddings[english]
    folder = tmp_path_factory.mktemp("encoder") / "model"
    return str(backbone.save_pretrained(folder, vocab))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))


def aligner(start, **settings):
    defaults = {"layer": 2, "updates": 12, "learning_rate": 1e-3, "tokens_per_update": 128}
    return SelfTrained(start=start, **{**defaults, **settings})


def same(alignments, others):
    return alignments.links == others.links and np.array_equal(
        alignments.confidence, others.confidence
    )


def test_training_lowers_the_loss_and_raises_agreement(start, monkeypatch):
    losses = []
    update = training.EncoderTraining.update

    def observed(self, number):
        losses.append(self.loss(0).item())
        update(self, number)

    monkeypatch.setattr(training.EncoderTraining, "update", observed)
    # the few dimensions of this encoder make random vectors similar
    settings = {"learning_rate": 3e-3, "temperature": 0.2, "tokens_per_update": 64}
    fitted = aligner(start, updates=40, **settings).fit(TEXT)
    assert losses[-1] < 0.7 * losses[0]
    settings["learning_rate"] = 1e-9
    untrained = aligner(start, updates=1, **settings).fit(TEXT)
    assert encoder_error(fitted) < 0.6 * encoder_error(untrained)
    together = fitted.align_training_pairs(TEXT)
    check_alignments(together, TEXT)
    assert agreement(together.links, GOLD, GOLD).aer < 0.05


def encoder_error(fitted):
    """The error rate of the encoder's links alone, without improbable ones."""
    alignments = fitted.similarity.align(TEXT)
    links = select_links(alignments.links, alignments.confidence > 0.2)
    return agreement(links, GOLD, GOLD).aer


def test_warns_of_an_encoder_that_does_not_know_the_words(start, caplog):
    shuffled = replace(TEXT, target_types=TEXT.target_types[::-1])
    with caplog.at_level(logging.WARNING):
        aligner(start, updates=1).fit(TEXT)
        assert not caplog.messages
        aligner(start, updates=1).fit(shuffled)
    assert "if the encoder does not know the languages, `gibbs` alone" in caplog.text


def test_resumes_a_killed_training_exactly(start, monkeypatch, tmp_path):
    whole = aligner(start).fit(TEXT)
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    trained = count_updates(monkeypatch)

    def stop(what, done, total):
        if (what, done) == ("training the encoder", 5):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        aligner(start).fit(TEXT, progress=stop)
    assert trained == [0, 1, 2, 3, 4]
    resumed = aligner(start).fit(TEXT)
    assert trained == list(range(12))
    assert not list((tmp_path / "other").rglob("*.checkpoint"))
    expected = whole.similarity.encoder.backbone.state_dict()
    for name, weight in resumed.similarity.encoder.backbone.state_dict().items():
        assert torch.equal(weight, expected[name]), name
    assert same(resumed.align_training_pairs(TEXT), whole.align_training_pairs(TEXT))


def count_updates(monkeypatch):
    """Return a list to which the number of each update is added."""
    numbers = []
    update = training.EncoderTraining.update

    def counted(self, number):
        numbers.append(number)
        update(self, number)

    monkeypatch.setattr(training.EncoderTraining, "update", counted)
    return numbers


def test_the_same_text_is_trained_on_once(start, monkeypatch):
    numbers = count_updates(monkeypatch)
    first = aligner(start, updates=2).fit(TEXT)
    again = aligner(start, updates=2).fit(TEXT)
    assert numbers == [0, 1]
    assert same(first.align_training_pairs(TEXT), again.align_training_pairs(TEXT))
    aligner(start, updates=2).fit(replace(TEXT, languages=("en", "nl")))
    aligner(start, updates=2, seed=1).fit(TEXT)
    assert numbers == [0, 1] * 3


def test_a_saved_encoder_is_an_ordinary_checkpoint_without_higher_layers(start, tmp_path):
    fitted = aligner(start, updates=2).fit(TEXT)
    fitted.save(tmp_path / "model", TEXT)
    model = transformers.BertModel.from_pretrained(tmp_path / "model" / "encoder")
    weights = fitted.similarity.encoder.backbone.model.base_model.state_dict()
    assert model.config.num_hidden_layers == 2
    for name, weight in model.state_dict().items():
        if "pooler" not in name:
            assert torch.equal(weight, weights[name]), name
    fitted.save(tmp_path / "model", TEXT)  # replaces it


def test_embeddings_are_compared_as_they_are(start, monkeypatch):
    numbers = count_updates(monkeypatch)
    check_alignments(aligner(start, layer=0).fit(TEXT).align_training_pairs(TEXT), TEXT)
    assert not numbers


def test_layers_that_cannot_be_removed_stay(start, tmp_path):
    """Of ModernBERT, whose last layer is followed by a norm, a middle layer is trained and found again."""
    vocab = Vocab.load(start)
    shape = Shape(family="modernbert", layers=3, width=16, heads=2, max_length=64)
    folder = tmp_path / "modernbert"
    from_shape(shape, vocab, seed=0).save_pretrained(folder, vocab)
    fitted = aligner(str(folder), updates=2).fit(TEXT)
    fitted.save(tmp_path / "model", TEXT)
    saved = load_aligner(tmp_path / "model")
    assert saved.similarity.encoder.layer == 2
    assert same(saved.align(TEXT), fitted.align(TEXT))


def test_new_text_is_aligned_by_both(start, tmp_path):
    """Words that `gibbs` does not know, in the order of the source: the encoder knows better, if it knows them."""
    few = TEXT.slice(0, 100)
    new = TEXT.slice(100, PAIRS)
    fitted = aligner(start, updates=2).fit(few)
    evidence = fitted.similarity.align(new)
    assert same(fitted.align(new), fitted.gibbs.align(new, evidence))
    assert not same(fitted.align(new), fitted.gibbs.align(new))
    fitted.save(tmp_path / "model", few)
    assert same(load_aligner(tmp_path / "model").align(new), fitted.align(new))


def test_the_encoder_learns_from_both_where_gibbs_is_trained_in_parts(start, monkeypatch):
    """Then `gibbs` keeps no links of its training, and aligns the text again: alone, then with the encoder."""
    with_evidence = []
    align = FittedGibbs.align

    def in_parts(self, symmetrization):
        return Gibbs(symmetrization=symmetrization, sweeps=0.1, max_training_cells=1000)

    def observed(self, pairs, evidence=None):
        with_evidence.append(evidence is not None)
        return align(self, pairs, evidence)

    monkeypatch.setattr(SelfTrained, "_gibbs", in_parts)
    monkeypatch.setattr(FittedGibbs, "align", observed)
    aligner(start, updates=1, tokens_per_update=2000).fit(TEXT.slice(0, 60))
    assert with_evidence == [False, True]


def test_only_words_beside_each_other_are_partners_of_the_same_word(start):
    """Each German word translates an English word and the word after it, which is the same word spelled backward."""
    doubled = [f"{word} {word[::-1]}" for word in ENGLISH]
    source = []
    target = []
    for row in range(PAIRS):
        words = np.random.default_rng(row).permutation(TYPES)[:5]
        source.append(" ".join(doubled[word] for word in words))
        target.append(" ".join(GERMAN[word] for word in words))
    pairs = word_pairs(source, target)
    links = aligner(start, updates=1).fit(pairs).align_training_pairs(pairs).links
    phrases = 0
    for row in links.to_lists():
        for position in range(5):
            partners = sorted(source for source, target in row if target == position)
            assert not partners or partners[-1] - partners[0] < len(partners)
            phrases += len(partners) > 1
    assert phrases > 100  # with links by a threshold 52


def test_says_what_is_trained_on(start, caplog, monkeypatch):
    numbers = count_updates(monkeypatch)
    with caplog.at_level(logging.INFO):
        aligner(start, updates=2, tokens_per_update=16).fit(TEXT.slice(0, 60))
    assert "only 60 pairs to train on" in caplog.text
    (message,) = [text for text in caplog.messages if "the encoder is trained on" in text]
    assert message.endswith("of 60 pairs, as many as its updates read")
    assert 5 <= int(message.split()[6]) <= 12  # of 3 to 7 words
    assert "2 updates of at most 16 tokens" in caplog.text
    assert len(numbers) == 2


def test_no_pair_is_read_more_than_three_times(start, monkeypatch):
    numbers = count_updates(monkeypatch)
    few = TEXT.slice(0, 10)
    aligner(start, updates=100, tokens_per_update=1000).fit(few)
    assert numbers == [0, 1, 2]  # of one batch


def test_priors_are_those_of_gibbs(start, monkeypatch):
    priors_seen = []
    fit = Gibbs.fit

    def observed(self, pairs, priors=None, progress=None, evidence=None):
        priors_seen.append(priors)
        return fit(self, pairs, priors, progress, evidence)

    monkeypatch.setattr(Gibbs, "fit", observed)
    priors = Lexicon.of([("Seven", "Sieben", 3.0)])
    aligner(start, updates=1).fit(TEXT, priors)
    assert priors_seen == [priors] * 3  # alone, with the encoder, and after its training


def test_rejects_a_missing_layer(start):
    with pytest.raises(SettingsError, match="layer = 9, but the model has the layers 0 to 3"):
        aligner(start, layer=9).fit(TEXT)
