"""Scores of translations made by a model; what the model is told, and what is kept of what it says."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from interlace.core.errors import MissingDependencyError, SettingsError
from interlace.data.vocab import Vocab
from interlace.models import translator
from interlace.models.build import from_shape
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import Shape
from interlace.scores.examples import bleu as bleu_of
from interlace.tasks import TASKS
from interlace.tasks.common.translation import bleu, copied, tokenized_bleu
from little_files import write

WORDS = {"the": "der", "doctor": "arzt", "reads": "liest", "letters": "briefe", "Ion": "Ion"}
ENGLISH = [
    "the doctor reads letters",
    "letters the doctor reads",
    "the letters reads Ion the doctor",
]
GERMAN = [" ".join(WORDS[word] for word in line.split()) for line in ENGLISH]


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": ENGLISH * 10, "de": GERMAN * 10}, size=400).with_target_languages(
        ["en", "de"]
    )


@pytest.fixture
def root(tmp_path):
    write(tmp_path, "parallel/test.en-de.en", *ENGLISH, "no translation")
    write(tmp_path, "parallel/test.en-de.de", *GERMAN, " ")
    return tmp_path


@pytest.fixture(scope="module")
def model(vocab):
    shape = Shape(
        family="modernbert",
        layers=1,
        width=16,
        heads=2,
        max_length=24,
        dropout=0.0,
        attention_dropout=0.0,
    )
    encoder = from_shape(shape, vocab, (), seed=0)
    return join(encoder, fresh_decoder(encoder.model.config, 0))


def by_dictionary(line, source, target):
    words = WORDS if target == "de" else {german: english for english, german in WORDS.items()}
    return " ".join(words.get(word, word) for word in line.split())


def copying(line, source, target):
    return line


@pytest.fixture
def says(monkeypatch):
    """Makes translators say what a function of the line and the languages gives; returns what they were asked."""
    asked = []

    class Stub:
        def __init__(self, model, vocab, source, target, search, **settings):

            asked.append(
                {"direction": f"{source}-{target}", "search": search, "lines": [], **settings}
            )
            self.source, self.target = source, target

        def lines(self, lines):
            asked[-1]["lines"] += lines
            return [
                SimpleNamespace(text=Stub.say(line, self.source, self.target), pieces=1)
                for line in lines
            ]

    def install(say):
        Stub.say = staticmethod(say)
        monkeypatch.setattr(translator, "Translator", Stub)
        return asked

    return install


def task(**settings):
    return TASKS.build({"name": "mt", "word_tokenizer": "whitespace", **settings})


def test_one_pair_of_files_is_read_in_both_directions(root, vocab):
    for target, sides in {"de": (ENGLISH, GERMAN), "de-en": (GERMAN, ENGLISH)}.items():
        found = task().examples("test", target, vocab, root)
        assert (
            found.sources,
            found.references,
        ) == sides  # without the line without translation
    (pairs,) = task().texts("test", "de-en", root)
    assert (pairs.source.language, pairs.target.language) == ("de", "en")


def test_scores_of_a_perfect_translator_and_of_copied_text(root, vocab, model, says):
    says(by_dictionary)
    scores = task().measure(model, vocab, task().examples("test", "de", vocab, root))
    assert scores["bleu"] == pytest.approx(100)
    assert scores["chrf"] == scores["tokenized bleu"] == pytest.approx(100)

    assert scores["copied lines"] == 0
    assert scores["copied words"] == pytest.approx(100 / 6 / 3)  # Ion, in one
    assert scores["length ratio"] == 1

    says(copying)
    back = task().examples("test", "de-en", vocab, root)
    scores = task(round_trip=True).measure(model, vocab, back)
    assert scores["bleu"] < 10
    assert scores["copied lines"] == scores["copied words"] == 100
    # which is why a round trip alone says little
    assert scores["round-trip bleu"] == pytest.approx(100)


def test_a_round_trip_needs_no_translations(tmp_path, vocab, model, says):
    """It is what the task `mt` finds beside BLEU; here "letters" gets lost on the way there."""
    says(
        lambda line, source, target: by_dictionary(line.replace("letters", ""), source, target)
    )
    write(tmp_path, "test.en", *ENGLISH, " ")
    write(tmp_path, "test.de", *GERMAN, " ")
    beside = task(files="test.{language}", round_trip=True)
    expected = beside.measure(model, vocab, beside.examples("test", "en-de", vocab, tmp_path))
    (tmp_path / "test.de").unlink()
    alone = TASKS.build({"name": "round_trip", "files": "test.{language}"})
    lines = alone.examples("test", "en-de", vocab, tmp_path)
    assert (lines.sources, str(lines.direction)) == (ENGLISH, "en-de")
    scores = alone.measure(model, vocab, lines)
    for name in ("round-trip bleu", "copied lines", "copied words"):
        assert scores[name] == pytest.approx(expected[name])
    assert 5 < scores["round-trip bleu"] < 90
    assert scores["round-trip bleu"] == pytest.approx(scores.outcomes.total)
    with pytest.raises(
        SettingsError, match=r"^round_trip: translation needs an encoder-decoder"
    ):
        alone.measure(model.encoder, vocab, lines)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, [14, None]), ({"max_length": 20}, [18, 18])],
)
def test_sources_are_as_long_as_in_training(root, vocab, model, says, settings, expected):
    asked = says(by_dictionary)
    into = task(round_trip=True, **settings).with_trained_lengths({"en-de": 14})
    into.measure(model, vocab, into.examples("test", "de", vocab, root))
    assert [each["max_length"] for each in asked] == expected


@pytest.mark.parametrize(
    "language", ["zh", "zho", "cmn", "chi", "zh-Hant", "zh_TW", "yue", "cmn_Hans"]
)
def test_bleu_finds_the_words_of_chinese_by_any_code(language):
    """Its tokenizer counts characters; by spaces, a sentence that differs in one of them has a score of 0."""
    found = bleu(["我喜欢狗和猫"], ["我喜欢狗和鸟"], language)
    assert "tok:zh" in found.signature
    assert found.sentences[0, :6].tolist() == [6, 6, 5, 4, 3, 2]


@pytest.mark.parametrize("language", ["jpn", "ja_JP", "kor"])
def test_bleu_names_the_package_for_japanese_and_korean(language):
    with pytest.raises(MissingDependencyError, match=r"sacrebleu\[(ja|ko)\]"):
        bleu(["a"], ["a"], language)


def test_strips_romanian_diacritics_for_tokenized_bleu_only(tmp_path, vocab, model, says):
    asked = says(lambda line, *_: {"și fața": "and the face"}.get(line, "si fata buna si mare"))
    write(tmp_path, "test.en", "and the good and big face")
    write(tmp_path, "test.ro", "și fața bună și mare")
    into = task(files="test.{language}", targets=["ro"], romanian="strip")
    scores = into.measure(model, vocab, into.examples("test", "en-ro", vocab, tmp_path))
    assert scores["tokenized bleu"] == pytest.approx(100)
    assert scores["bleu"] < 30  # the reference keeps its diacritics
    into.measure(model, vocab, into.examples("test", "ro-en", vocab, tmp_path))
    assert asked[-1]["lines"] == ["si fata buna si mare"]


LINES = st.lists(
    st.sampled_from(["the", "cat", "sat", "on", "Mat", ".", ",", "3.5"]), max_size=9
).map(" ".join)


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=6), st.booleans())
@settings(max_examples=60)
def test_bleu_equals_sacrebleu_and_sums_over_sentences(pairs, lower_case):
    outputs, references = map(list, zip(*pairs, strict=True))
    theirs = BLEU(lowercase=lower_case)
    found = bleu(outputs, references, "de", lower_case=lower_case)
    assert found.value == pytest.approx(
        theirs.corpus_score(outputs, [references]).score, abs=1e-9
    )
    assert found.signature == str(theirs.get_signature())
    half = bleu(outputs[:1], references[:1], "de", lower_case=lower_case)
    assert half.value == pytest.approx(float(bleu_of(found.sentences[:1].sum(axis=0))))


def test_tokenized_bleu_counts_words_without_smoothing():
    outputs, references = ["The cat, sat on the mat."], ["The cat, lay on the mat."]
    found = tokenized_bleu(outputs, references, "en", word_tokenizer="unicode")
    words = [["The cat , sat on the mat ."], [["The cat , lay on the mat ."]]]
    assert found.value == pytest.approx(
        BLEU(tokenize="none", smooth_method="none").corpus_score(*words).score
    )
    assert "tok:unicode" in found.signature
    assert tokenized_bleu(["a b"], ["a c"], "en", word_tokenizer="whitespace").value == 0


def test_copied_shares_by_hand():
    lines, words = copied(["ein Hund", "A dog ", "", "x x y"], ["a dog", "A dog", "", "x y z"])
    assert lines.tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(words, [0, 1, 0, 2 / 3])
