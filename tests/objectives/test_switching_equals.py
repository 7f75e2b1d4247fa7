"""Phrases that are their own translation are not exchanged, and words without subwords lead nowhere."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tokenizers import Tokenizer

from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.vocab import ROLES, Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives._switching import Choices, Switching, switch
from interlace.objectives._switching_exact import cut_otherwise
from interlace.objectives._switching_forms import Forms
from interlace.objectives._switching_links import extracted
from interlace.objectives.alm import Alm
from interlace.toy import pairs as world_pairs
from interlace.toy import sample

MIXED = Switching(source_share=0, target_share=0, switch_fraction=0.9)


def rng(seed=0):
    return np.random.default_rng([7, seed])


def encoded(text, vocab):
    links = text.links
    pairs = Pairs(vocab.encode_text(text.source), vocab.encode_text(text.target), links)
    phrases = phrase_pairs(text.source.words.lengths, text.target.words.lengths, links)
    return Pairs(pairs.source, pairs.target, links, phrases)


def inserted(switched, side_words):
    """Words of each replaced span and of what stands there."""
    for row in range(len(switched.pieces)):
        for (side, _, start, stop), (first, last) in zip(
            switched.pieces[row].tolist(), switched.places[row].tolist(), strict=True
        ):
            if side != switched.matrix[row]:
                yield side_words[1 - side][row][first:last], side_words[side][row][start:stop]


@pytest.mark.parametrize("kind", ["byte-bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("by_links", [False, True])
def test_names_and_full_stops_are_not_exchanged_for_themselves(kind, by_links):
    text = world_pairs("en", "de", sample(60, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900, kind=kind)
    pairs, forms = encoded(text, vocab), Forms(vocab)
    words = [
        [[line[a:b] for a, b in row] for line, row in zip(side.lines, side.words.to_lists(), strict=True)]
        for side in (text.source, text.target)
    ]
    of = (
        (lambda texts: extracted(pairs, PhraseRules(), forms.inside, texts))
        if by_links
        else (lambda texts: Choices.of(pairs, forms.inside, texts))
    )
    exchanges = [list(inserted(switch(of(texts), MIXED, rng()), words)) for texts in (None, forms.texts)]
    assert any(one == other for one, other in exchanges[0])
    assert exchanges[1]
    assert not any(one == other for one, other in exchanges[1])


def test_a_link_to_a_word_without_subwords_leads_nowhere():
    """The last word of the source spells nothing in this vocabulary: no phrase may reach behind the sentence."""
    ids = Ragged.of([[5, 6], [7, 8]])
    source = Sentences(ids, Ragged.of([[0, 1], [0, 1]]), "en")
    target = Sentences(Ragged.of([[9, 10, 11], [9, 10]]), Ragged.of([[0, 1, 2], [0, 1]]), "de")
    links = Ragged.of([[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1), (2, 1)]], width=2)
    choices = extracted(Pairs(source, target, links), PhraseRules())
    assert choices.words.tolist() == [[2, 3], [2, 2]]
    for seed in range(50):
        switched = switch(choices, MIXED, rng(seed))
        for row, (start, stop) in zip(switched.pieces.rows(), switched.places.flat, strict=True):
            assert stop <= switched.words[row]
            assert start < stop
        for side, row, _, stop in switched.pieces.flat.tolist():
            assert stop <= choices.words[row, side]


def test_a_batch_tells_its_realised_mix():
    text = world_pairs("en", "de", sample(300, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900)
    alm = Alm(max_length=60)
    batch = alm.batch(encoded(text, vocab), alm.prepare(Resources(vocab, Traits("bert", 64))), 0, rng())
    mixed, replaced = (batch.extra[name].item() / batch.counts[name] for name in ("mixed_share", "replaced_share"))
    assert batch.counts["mixed_share"] == len(batch.inputs["input_ids"]) == 300
    assert 0.6 < mixed < 0.8  # a fifth is to be plain, and some short sentences have nothing to exchange
    assert 0.1 < replaced < 0.3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"switching": {"target_choice": "table_argmax"}}, "has no table for switching"),
        ({"switching": {"longest": 6}}, "needs extraction"),
    ],
)
def test_settings_that_would_be_passed_over_are_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        Alm.read({"phrases": "extracted", **settings})
    Alm.read(settings)


def test_rows_that_their_text_would_cut_otherwise_are_told(monkeypatch):
    text = world_pairs("en", "de", sample(50, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900)
    pairs = encoded(text, vocab)
    assert cut_otherwise(pairs.source, vocab) == 0
    word = max(vocab.tokens(vocab.regular_ids), key=len).lstrip("▁Ġ ")  # one subword, here in its letters
    spelt = [vocab.tokenizer.encode(letter, add_special_tokens=False).ids[-1] for letter in word if letter.isascii()]
    apart = Sentences(Ragged.of([*pairs.source.ids.to_lists()[:3], spelt]), pairs.source.words, "en")
    assert cut_otherwise(apart, vocab) == 1 / 4
    alm = Alm(max_length=60)
    prepared = alm.prepare(Resources(vocab, Traits("bert", 64)))
    assert alm.notes(pairs, prepared) == []
    monkeypatch.setattr("interlace.objectives.alm.cut_otherwise", lambda *_: 0.25)
    assert "25.0% of 50 switched rows of en-de" in alm.notes(pairs, prepared)[0]


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_a_tokenizer_without_a_decoder_is_no_reason_to_tell(kind):
    text = world_pairs("en", "de", sample(50, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900, kind=kind)
    raw = json.loads(vocab.tokenizer.to_str()) | {"decoder": None}
    bare = Vocab(Tokenizer.from_str(json.dumps(raw)), ROLES, {}, "bare")
    assert bare.tokenizer.decoder is None
    assert cut_otherwise(encoded(text, bare).source, bare) == cut_otherwise(encoded(text, vocab).source, vocab) == 0
