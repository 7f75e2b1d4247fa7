"""Dictionaries: the split, tokenization, unusable entries and scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError
from interlace.objectives.common.dictionaries import (
    Dictionary,
    DictionaryPart,
    EntryStatus,
    split_dictionary,
)
from little_words import LittleWords

TOKENS = LittleWords(
    "old doctor house the alt Arzt ar ##zt Haus ha ##us ##arzt Anna ##e",
    spelled={
        "arzt": "ar ##zt",
        "haus": "ha ##us",
        "Hausarzt": "Haus ##arzt",
        "alte": "alt ##e",
        "ñ": "<mask>",
    }
    | {"": "", "three pieces": "old doctor house", "ñandú": "old doctor house"},
)
VOCAB, ID = TOKENS.vocab, TOKENS.ids
PAIR = ("en", "de")


def prepared(entries, most=4, **settings):
    lexicons = {PAIR: Lexicon.of((source, target, 1.0) for source, target in entries)}
    return Dictionary(**settings).prepare(lexicons, VOCAB, "align_mlm", seed=3, max_tokens=most)


def spelled(dictionaries):
    rows = [" ".join(TOKENS.names(row)) for row in dictionaries.words]
    [entries] = dictionaries.entries
    usable = entries[:, dictionaries.splits[0].statuses == EntryStatus.USED]
    return sorted((rows[source], rows[target]) for source, target in usable.T)


def test_split_depends_on_seed_and_languages_but_not_on_the_order():
    words = [(f"s{i}", f"t{i}", 1.0) for i in range(100)]

    def drawn(entries, languages=PAIR, seed=1):
        found = split_dictionary(Lexicon.of(entries), languages, 0.3, seed)
        trained = np.flatnonzero(found.parts == DictionaryPart.TRAIN)
        assert len(trained) == 30
        return {found.lexicon[entry][0] for entry in trained}

    assert drawn(words) == drawn(words[::-1])
    assert drawn(words) != drawn(words, seed=2)
    assert drawn(words) != drawn(words, ("en", "fr"))


entry = st.tuples(st.integers(0, 8), st.integers(0, 8))


@given(st.lists(entry, min_size=1, max_size=30), st.floats(0.01, 1), st.integers(0, 5))
def test_held_out_words_do_not_occur_in_training_entries(entries, share, seed):
    lexicon = Lexicon.of((f"s{i}", f"t{j}", 1.0) for i, j in entries)
    parts = split_dictionary(lexicon, PAIR, share, seed).parts
    trained = lexicon.entries[parts == DictionaryPart.TRAIN]
    held = lexicon.entries[parts == DictionaryPart.HELD_OUT]
    assert len(trained) > 0
    assert not np.isin(held[:, 0], trained[:, 0]).any()
    assert not np.isin(held[:, 1], trained[:, 1]).any()
    shared = lexicon.entries[parts == DictionaryPart.OVERLAP]
    assert not np.isin(shared[:, 0], trained[:, 0]).any()
    assert np.isin(shared[:, 1], trained[:, 1]).all()


def test_held_out_entries_have_no_embedding_row_of_training_entries_of_any_dictionary():
    """alte = alt ##e: it is not held out from `alt`, nor Hausarzt = Haus ##arzt from `Haus`."""
    lexicons = {
        ("de", "en"): Lexicon.of([("alt", "old", 1), ("Haus", "house", 1)]),
        ("de", "fr"): Lexicon.of([("alte", "the", 1), ("Hausarzt", "doctor", 1)]),
    }
    for seed in range(8):
        found = Dictionary(share=0.5, seed=seed).prepare(
            lexicons, VOCAB, "x", seed=0, max_tokens=4
        )
        trained_ids = found.words.take(found.trained().reshape(-1)).flat
        for split, entries in zip(found.splits, found.entries, strict=True):
            held_out = entries[:, split.parts == DictionaryPart.HELD_OUT]
            held_out_ids = found.words.take(held_out.reshape(-1)).flat
            assert not np.isin(held_out_ids, trained_ids).any()


@pytest.mark.parametrize("seed", range(4))
def test_casings_of_a_word_are_in_one_part(seed):
    words = [
        f"{word}{number}" for number in range(40) for word in ("berlin", "Berlin", "BERLIN")
    ]
    lexicon = Lexicon.of((word, f"t{number}", 1.0) for number, word in enumerate(words))
    parts = split_dictionary(lexicon, PAIR, 0.5, seed).parts
    assert (parts.reshape(40, 3) == parts.reshape(40, 3)[:, :1]).all()
    assert np.bincount(parts).tolist() == [60, 60]


def test_spellings_of_entries_and_why_some_are_unused():
    entries = [("doctor", "Hausarzt"), ("old", "alt")]
    assert ("doctor", "Haus ##arzt") in spelled(prepared(entries))
    two = prepared([*entries, ("old", "three pieces")], most=2)
    assert two.splits[0].statuses.tolist() == [
        EntryStatus.USED,
        EntryStatus.USED,
        EntryStatus.TOO_LONG,
    ]
    found = prepared(
        [("Anna", "Anna"), ("ñ", "alt"), ("old", "ñ"), ("the", ""), ("house", "Haus")]
    )
    assert spelled(found) == [("house", "Haus")]
    statuses = [EntryStatus.IDENTICAL, *[EntryStatus.UNSPELLABLE] * 3, EntryStatus.USED]
    assert found.splits[0].statuses.tolist() == statuses


def test_errors_without_dictionary_or_usable_entry():
    with pytest.raises(DataError, match=r"no entry .* 1 with too many .*a larger vocabulary"):
        prepared([("doctor", "Hausarzt")], most=1)
    with pytest.raises(DataError, match=r"set align_mlm\.dictionary"):
        Dictionary().prepare({}, VOCAB, "align_mlm", seed=0)
