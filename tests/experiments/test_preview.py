"""One sentence and its translation as objectives get them."""

import pytest

from interlace.core.errors import DataError
from interlace.experiments.preview import PreviewPair

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
