"""What is drawn from dictionaries, how entries become subwords, and which of them cannot be used."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.objectives.common.dictionaries import (
    Dictionary,
    DictionaryPart,
    EntryStatus,
    dictionary_scores,
    split_dictionary,
)

PIECES = {
    "old": [4], "doctor": [5], "house": [6], "the": [7], "alt": [8], "Arzt": [9], "arzt": [10, 11], "Haus": [12],
    "haus": [13, 14], "Hausarzt": [12, 15], "Anna": [16], "alte": [8, 17], "ñ": [3], "": [],
}  # fmt: skip
VOCAB = SimpleNamespace(
    size=18,
    regular_ids=np.arange(4, 18),
    encode_words=lambda words: Ragged.of([PIECES.get(word, [10, 11, 13]) for word in words], np.int64),
)
PAIR = ("en", "de")


def prepared(entries, most=4, **settings):
    lexicons = {PAIR: Lexicon.of((source, target, 1.0) for source, target in entries)}
    return Dictionary(**settings).prepare(lexicons, VOCAB, "align_mlm", seed=3, max_tokens=most)


def spelled(dictionaries):
    rows = dictionaries.words.to_lists()
    return [(rows[one], rows[two]) for one, two in zip(dictionaries.source, dictionaries.target, strict=True)]


def scores(table, dictionaries, parts):
    backbone = SimpleNamespace(input_embeddings=table)
    return dictionary_scores(backbone, {"x": replace(dictionaries, parts=parts), "mlm": None})


def many(count):
    return Lexicon.of((f"s{i}", f"t{i}", 1.0) for i in range(count))


# ---- drawing ----


def test_a_quarter_of_the_source_words_is_drawn_and_the_rest_held_out():
    parts = split_dictionary(many(400), PAIR, 0.25, seed=1).parts
    assert np.bincount(parts).tolist() == [100, 300]


def test_the_seed_and_the_languages_decide_and_the_order_of_the_file_does_not():
    words = [(f"s{i}", f"t{i}", 1.0) for i in range(100)]

    def drawn(entries, languages=PAIR, seed=1):
        found = split_dictionary(Lexicon.of(entries), languages, 0.3, seed)
        return {found.lexicon[entry][0] for entry in np.flatnonzero(found.parts == DictionaryPart.TRAIN)}

    assert drawn(words) == drawn(words[::-1])
    assert drawn(words) != drawn(words, seed=2)
    assert drawn(words) != drawn(words, ("en", "fr"))


entry = st.tuples(st.integers(0, 8), st.integers(0, 8))


@given(st.lists(entry, min_size=1, max_size=30), st.floats(0.01, 1), st.integers(0, 5))
def test_no_word_of_a_held_out_entry_is_ever_learnt(entries, share, seed):
    lexicon = Lexicon.of((f"s{i}", f"t{j}", 1.0) for i, j in entries)
    parts = split_dictionary(lexicon, PAIR, share, seed).parts
    learnt, held = lexicon.entries[parts == DictionaryPart.TRAIN], lexicon.entries[parts == DictionaryPart.HELD_OUT]
    assert len(learnt) > 0
    assert not np.isin(held[:, 0], learnt[:, 0]).any()
    assert not np.isin(held[:, 1], learnt[:, 1]).any()
    shared = lexicon.entries[parts == DictionaryPart.OVERLAP]
    assert not np.isin(shared[:, 0], learnt[:, 0]).any()
    assert np.isin(shared[:, 1], learnt[:, 1]).all()


# ---- spelling ----


def test_a_word_of_a_lower_cased_dictionary_is_found_with_its_capital():
    entries = [("doctor", "arzt"), ("house", "haus"), ("old", "alt")]
    assert sorted(spelled(prepared(entries))) == [([4], [8]), ([5], [9]), ([6], [12])]
    assert ([5], [10, 11]) in spelled(prepared(entries, case="as_written"))


def test_words_of_several_subwords_are_kept_or_left_out():
    entries = [("doctor", "Hausarzt"), ("old", "alt")]
    assert ([5], [12, 15]) in spelled(prepared(entries))
    two = prepared([*entries, ("old", "three pieces")], most=2)
    assert two.splits[0].statuses.tolist() == [EntryStatus.USED, EntryStatus.USED, EntryStatus.TOO_LONG]
    single = prepared(entries, most=1)
    assert spelled(single) == [([4], [8])]
    assert single.splits[0].statuses.tolist() == [EntryStatus.TOO_LONG, EntryStatus.USED]
    assert "1 with too many tokens" in single.notes[0]
    assert "(doctor/Hausarzt)" in single.notes[0]


def test_words_written_alike_and_unknown_ones_teach_nothing_and_are_named():
    found = prepared([("Anna", "Anna"), ("ñ", "alt"), ("old", "ñ"), ("the", ""), ("house", "Haus")])
    assert spelled(found) == [([6], [12])]
    assert found.splits[0].statuses.tolist() == [
        EntryStatus.IDENTICAL,
        EntryStatus.UNSPELLABLE,
        EntryStatus.UNSPELLABLE,
        EntryStatus.UNSPELLABLE,
        EntryStatus.USED,
    ]
    assert "(ñ/alt old/ñ the/)" in found.notes[0]
    assert "1 identical in both languages (Anna/Anna)" in found.notes[0]


def test_words_are_numbered_once_over_all_dictionaries():
    lexicons = {("en", "de"): Lexicon.of([("old", "alt", 1)]), ("de", "en"): Lexicon.of([("alt", "old", 1)])}
    found = Dictionary().prepare(lexicons, VOCAB, "x", seed=0, max_tokens=4)
    assert len(found.words) == 2
    assert found.owner.tolist() == [0, 1]
    assert found.source.tolist() == found.target.tolist()[::-1]


# ---- errors ----


def test_without_a_dictionary_the_error_says_how_to_give_one():
    with pytest.raises(DataError, match=r"set align_mlm\.dictionary"):
        Dictionary().prepare({}, VOCAB, "align_mlm", seed=0)


def test_without_a_usable_entry_the_error_shows_some_and_the_cure():
    with pytest.raises(DataError, match=r"no entry .* \(doctor/Hausarzt\)") as error:
        prepared([("doctor", "Hausarzt")], most=1)
    assert "a larger vocabulary" in str(error.value)
    with pytest.raises(DataError, match=r"no entry .* 1 not in the vocabulary .* \(ñ/ñandú\)"):
        prepared([("ñ", "ñandú")])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"files": "dict/{from}.txt"}, "unknown placeholder {from}"),
        ({"files": "dict/{sorce}.txt"}, "did you mean 'source'"),
        ({"files": "dict/{source"}, "not a path pattern"),
        ({"pairs": ["ende"]}, "two languages joined by '-'"),
        ({"share": 0}, "greater than 0"),
        ({"shaer": 1}, "did you mean 'share'"),
    ],
)
def test_wrong_settings_say_what_is_expected(settings, message):
    with pytest.raises(SettingsError, match=message):
        Dictionary(**settings)


# ---- scores ----


def test_scores_of_what_was_learnt_and_what_was_held_out_by_hand():
    """Two words are asked of each part; held out, `house` is nearest to its translation and `the` is not."""
    lexicon = Lexicon.of([("old", "alt", 1), ("doctor", "Arzt", 1), ("house", "Haus", 1), ("the", "alte", 1)])
    found = Dictionary().prepare({PAIR: lexicon}, VOCAB, "x", seed=0, max_tokens=4)
    parts = np.array(
        [DictionaryPart.TRAIN, DictionaryPart.TRAIN, DictionaryPart.HELD_OUT, DictionaryPart.HELD_OUT], np.uint8
    )
    table = torch.zeros(18, 4)
    table[4, 0] = table[8, 0] = 1  # old, alt: cosine 1
    table[5, 1], table[9] = 2, torch.tensor([0.0, 3, 3, 0])  # doctor, Arzt: 0.70711
    table[6, 2], table[12, 2] = 1, 1  # house, Haus: 1
    table[7, 1], table[17, 3] = 1, 1  # the, alte = mean of (1,0,0,0) and (0,0,0,1): 0; Arzt is nearer
    assert scores(table, found, parts) == {
        "x/train/cosine": 0.85355,
        "x/train/p@1": 100.0,
        "x/held-out/cosine": 0.5,
        "x/held-out/p@1": 50.0,
    }


def test_a_translation_of_the_other_part_is_neither_right_nor_wrong():
    """`old` is nearest to `alt`, which is its translation, but not one of those that are measured."""
    lexicon = Lexicon.of([("old", "alt", 1), ("old", "Haus", 1), ("the", "Arzt", 1)])
    found = Dictionary().prepare({PAIR: lexicon}, VOCAB, "x", seed=0, max_tokens=4)
    table = torch.zeros(18, 3)
    table[4] = table[8] = torch.tensor([1.0, 0, 0])
    table[12] = torch.tensor([1.0, 1, 0])
    table[7, 2] = table[9, 2] = 1
    parts = np.array([DictionaryPart.OVERLAP, DictionaryPart.HELD_OUT, DictionaryPart.TRAIN], np.uint8)
    assert scores(table, found, parts)["x/held-out/p@1"] == 100.0
