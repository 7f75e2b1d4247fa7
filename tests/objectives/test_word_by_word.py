"""Words read as translations: by hand, against a plain loop, and by their shares."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives._word_by_word import WordTable, word_by_word
from interlace.objectives.denoise import Denoise

WORDS = "<pad> </s> <s> <mask> <2en> <2de> the old doctor ##s house alt Arzt Doktor Haus ##arzt".split()
ID = {word: number for number, word in enumerate(WORDS)}
SPELLED = {
    **{word: [number] for word, number in ID.items()},
    "doctors": [ID["doctor"], ID["##s"]],
    "Hausarzt": [ID["Haus"], ID["##arzt"]],
}
VOCAB = SimpleNamespace(
    pad=0, end=1, begin=2, mask=3, size=len(WORDS),
    separator_ids=(1,), special_ids=np.arange(6), regular_ids=np.arange(6, 16),
    target=lambda language: ID[f"<2{language}>"],
    encode_words=lambda words: Ragged.of([SPELLED.get(word, [4]) for word in words]),
)  # fmt: skip
ENTRIES = [("old", "alt"), ("doctor", "Hausarzt"), ("doctors", "Doktor"), ("doctors", "Arzt"), ("the", "xyz")]


def sentences(lines, language="en"):
    """`##` goes on with the word before."""
    words = [line.split() for line in lines]
    owners = [np.cumsum([not piece.startswith("##") for piece in row]) - 1 for row in words]
    return Sentences(Ragged.of([[ID[piece] for piece in row] for row in words]), Ragged.of(owners), language)


def batch_of(lines, language="en", key=0, step=1, **settings):
    plain = {"max_length": 32, "noise": {"shuffle": 0, "drop": 0, "blank": 0}, "translated": 1}
    objective = Denoise(**plain | settings)
    lexicons = {("en", "de"): Lexicon.of((source, target, 1.0) for source, target in ENTRIES)}
    prepared = objective.prepare(Resources(VOCAB, Traits("bert", 64), lexicons=lexicons))
    return objective.batch(sentences(lines, language), prepared, step, np.random.default_rng(key))


def read(batch):
    return [" ".join(WORDS[i] for i in row if i) for row in batch.inputs["input_ids"]]


# ---- by hand ----


def test_known_words_are_read_as_translations_and_the_sentence_is_written_as_it_was():
    batch = batch_of(["the old doctor", "old house"])
    assert read(batch) == ["<s> the alt Haus ##arzt </s>", "<s> alt house </s>"]
    written = [[WORDS[i] for i in row if i] for row in batch.extra["decoder_ids"]]
    assert written == [["<2en>", "the", "old", "doctor"], ["<2en>", "old", "house"]]


def test_entries_are_read_in_both_directions():
    assert read(batch_of(["alt Haus ##arzt Haus"], "de")) == ["<s> old doctor Haus </s>"]


def test_of_several_translations_each_is_as_likely():
    found = [read(batch_of(["doctor ##s"], key=key))[0] for key in range(300)]
    counts = {row: found.count(row) for row in set(found)}
    assert set(counts) == {"<s> Doktor </s>", "<s> Arzt </s>"}
    assert all(count > 110 for count in counts.values())


def test_the_beginning_of_a_word_is_no_word():
    """`doctor` is known, but neither `house ##s` nor `alt ##arzt` is."""
    assert read(batch_of(["house ##s doctor"])) == ["<s> house ##s Haus ##arzt </s>"]
    assert read(batch_of(["alt ##arzt"], "de")) == ["<s> alt ##arzt </s>"]


def test_the_share_is_met_and_may_fall():
    lines = ["old"] * 2000
    assert 0.27 < read(batch_of(lines, translated=0.3)).count("<s> alt </s>") / 2000 < 0.33
    assert 0.47 < read(batch_of(lines, translated="0:1,100:0", step=50)).count("<s> alt </s>") / 2000 < 0.53
    assert read(batch_of(lines, translated="0:1,100:0", step=100)) == ["<s> old </s>"] * 2000


def test_evaluation_reads_no_translation_and_needs_no_dictionary():
    assert Denoise(translated=0.5).needs == {"lexicon"}
    assert Denoise(translated="0:0,10:1").needs == {"lexicon"}
    assert Denoise(translated=0.5).for_evaluation().needs == Denoise().needs == frozenset()


def test_without_a_dictionary_the_cure_is_named():
    with pytest.raises(DataError, match=r"denoise: there is no dictionary; name one in denoise\.dictionary"):
        Denoise(translated=1).prepare(Resources(VOCAB, Traits("bert", 64)))


def test_a_row_stops_growing_where_it_is_full():
    """Two doctors become four subwords; all that is to be written is still read."""
    batch = batch_of(["doctor doctor old doctor", "doctor"], max_length=8)
    assert read(batch) == ["<s> Haus ##arzt Haus ##arzt alt doctor </s>", "<s> Haus ##arzt </s>"]
    tight = batch_of(["the doctor doctor ##s old the the"], max_length=9)  # `doctor ##s` becomes one, and makes room
    assert read(tight) in [[f"<s> the doctor {one} alt the the </s>"] for one in ("Doktor", "Arzt")]


def test_a_dictionary_is_refused_where_no_word_is_translated():
    with pytest.raises(SettingsError, match=r"none are translated; set translated too"):
        Denoise(dictionary={"vectors": "runs/words"})
    evaluated = Denoise(translated=1, dictionary={"vectors": "runs/words"}).for_evaluation()
    assert evaluated.needs == frozenset()


# ---- against a plain loop ----

pieces = st.integers(6, 9)
words = st.lists(pieces, min_size=1, max_size=3)


def made(rows, translations):
    """Rows of words, each its subwords, and the table of their translations, one a word."""
    own = list(translations)
    spelled = Ragged.of([np.array(word, np.int32) for word in [*own, *translations.values()]])
    numbers = np.arange(len(own))
    table = WordTable(spelled, numbers, Ragged.of([[len(own) + number] for number in numbers]))
    ids = Ragged.of([np.array([piece for word in row for piece in word], np.int32) for row in rows])
    owners = Ragged.of([np.array([i for i, word in enumerate(row) for _ in word], np.int32) for row in rows])
    return Sentences(ids, owners, "en"), table


@given(
    st.lists(st.lists(words, max_size=6), max_size=5),
    st.dictionaries(words.map(tuple), words, min_size=1, max_size=8),
)
def test_a_plain_loop_makes_the_same(rows, translations):
    """One translation a word, so that nothing is drawn."""
    sentences, table = made(rows, translations)
    found = word_by_word(sentences, table, 1.0, np.random.default_rng(0), 100)
    expected = [[translations.get(tuple(word), word) for word in row] for row in rows]
    assert [row.tolist() for row in found.ids] == [[piece for word in row for piece in word] for row in expected]
    assert [row.tolist() for row in found.words] == [[i for i, w in enumerate(row) for _ in w] for row in expected]


@given(
    st.lists(st.lists(words, max_size=6), max_size=5),
    st.dictionaries(words.map(tuple), words, min_size=1, max_size=8),
    st.integers(0, 12),
)
def test_no_row_grows_beyond_its_room(rows, translations, room):
    sentences, table = made(rows, translations)
    found = word_by_word(sentences, table, 1.0, np.random.default_rng(0), room)
    assert (found.lengths <= np.maximum(sentences.lengths, room)).all()
    for row, words in enumerate(found.words):
        assert sorted(set(words.tolist())) == list(range(len(rows[row])))  # each is still there
