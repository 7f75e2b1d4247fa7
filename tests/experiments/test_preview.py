"""One sentence and its translation as objectives get them."""

import pytest

from interlace.core.errors import DataError
from interlace.experiments.preview import PreviewPair
from interlace.objectives import OBJECTIVES

EXAMPLE = PreviewPair()


def test_every_word_is_one_token_with_links_and_consistent_phrases():
    vocab = EXAMPLE.vocab()
    pairs = EXAMPLE.pairs(vocab)
    assert vocab.tokens(pairs.source.ids.flat) == EXAMPLE.source.split()
    assert vocab.tokens(pairs.target.ids.flat) == EXAMPLE.target.split()
    assert ("reads", "liest") in EXAMPLE.linked()
    assert len(EXAMPLE.linked()) == 7
    spans = [tuple(span) for span in pairs.phrases.flat.tolist()]
    assert (1, 4, 2, 5) in spans  # the old doctor, der alte Arzt
    assert (3, 5, 4, 5) not in spans  # doctor reads, Arzt


@pytest.mark.parametrize("name", sorted(OBJECTIVES.own_names()))
def test_batches_depend_on_the_seed_only(name):
    vocab, objective = (
        EXAMPLE.vocab().with_target_languages(EXAMPLE.languages),
        OBJECTIVES.build(name),
    )

    def draw(seed):
        batches = EXAMPLE.batches(objective, vocab, rows=6, seed=seed)
        return [found.inputs["input_ids"].tolist() for _, found in batches]

    assert draw(0) == draw(0)
    drawn = name not in {"back_translation", "clm", "word_aligned"}
    assert any(draw(0) != draw(seed) for seed in range(1, 4)) == drawn


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (PreviewPair(links="0-0 7-1"), "7-1 is out of range; the sentences have 7 and 7 words"),
        (PreviewPair(source=" "), "the sentence in 'en' has no words"),
    ],
)
def test_rejects_invalid_pairs(example, message):
    with pytest.raises(DataError, match=message):
        example.pairs(PreviewPair().vocab())
