"""What every aligner of the room must keep, found by listing the room: links for every line, whatever stands in it."""

import logging

import numpy as np
import pytest

from interlace.aligners import ALIGNERS, load_aligner
from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.toy import languages, sampling
from little_pairs import check_alignments, word_pairs

PLAIN = (
    [
        "the old doctor reads a letter",
        "a cat sleeps",
        "the cat reads",
        "a doctor sleeps",
        "the old cat",
    ]
    * 2,
    [
        "der alte arzt liest briefe",
        "eine katze schläft",
        "die katze liest",
        "ein arzt schläft",
        "die alte katze",
    ]
    * 2,
)
ENGLISH, GERMAN = ["the cat", "a doctor"], ["die katze", "ein arzt"]
CASES = {
    "ten pairs": PLAIN,
    "a single pair": (["the cat sleeps"], ["die katze schläft"]),
    "empty lines": (["", *ENGLISH, " ", ""], ["", *GERMAN, "", "\t"]),
    "one-sided lines": (["", *ENGLISH, "the", "a cat"], ["katze", *GERMAN, "", " "]),
    "hundreds of words": (
        [*ENGLISH, " ".join(f"w{number % 90}" for number in range(400)), "cat " * 400, "cat"],
        [
            *GERMAN,
            " ".join(f"v{number % 70}" for number in range(400)),
            "katze",
            "katze " * 400,
        ],
    ),
    "separators in text": (
        ["a ||| cat", "|||", "the cat|||", *ENGLISH],
        ["eine ||| katze", "katze", "|||", *GERMAN],
    ),
    "control characters": (
        ["a\x00 cat\x01", "\x7f \x1b[0m", "\ufeffthe cat\u200b", "\ufffd", *ENGLISH],
        ["eine\x00 katze\x01", "\x02", "die katze\u2028x", "\ufffd\ufffd", *GERMAN],
    ),
    "duplicated lines": (PLAIN[0] + PLAIN[0][:3] * 3, PLAIN[1] + PLAIN[1][:3] * 3),
}
ENCODERS = {"similarity", "self_trained"}
FLOOR = 0.7  # F1 against the toy corpus's gold links, in every language


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A tiny encoder, for aligners that need one."""
    vocab = Vocab.learn({"en": PLAIN[0] * 5, "de": PLAIN[1] * 5}, size=400)
    folder = tmp_path_factory.mktemp("encoder") / "model"
    from_shape(
        Shape(layers=2, width=16, heads=2, max_length=64), vocab, seed=0
    ).save_pretrained(folder, vocab)
    return str(folder)


def file_of_links(pairs, path):
    """Links made elsewhere: word by word, as far as both sides go."""
    shorter = np.minimum(pairs.source.lengths, pairs.target.lengths).tolist()
    path.write_text(
        "".join(
            " ".join(f"{place}-{place}" for place in range(length)) + "\n" for length in shorter
        )
    )
    return str(path)


@pytest.fixture(params=ALIGNERS.names())
def build(request, start, tmp_path):
    """Makes the aligner for given pairs."""
    name = request.param

    def make(pairs, **changes):
        needed = {"start": start} if name in ENCODERS else {}
        needed |= {"updates": 2} if name == "self_trained" else {}
        needed |= (
            {"links": file_of_links(pairs, tmp_path / "made.links")}
            if name == "pharaoh"
            else {}
        )
        return ALIGNERS.build({"name": name, **needed, **changes})

    make.name = name
    return make


@pytest.mark.parametrize("case", CASES)
def test_returns_valid_links_for_every_line(build, case):
    pairs = word_pairs(*CASES[case])
    check_alignments(build(pairs).fit(pairs).align(pairs), pairs)


def test_aligns_every_pair_of_two_words_deterministically(build):
    pairs = word_pairs(*CASES["duplicated lines"])
    one, other = (build(pairs).fit(pairs).align(pairs) for _ in range(2))
    assert len(one.links.flat) >= len(pairs)
    assert one.links == other.links
    np.testing.assert_allclose(one.confidence, other.confidence, rtol=1e-4)


def test_links_do_not_depend_on_threads(build):
    pairs = word_pairs(PLAIN[0] * 30, PLAIN[1] * 30)
    if "threads" not in type(build(pairs)).model_fields:
        pytest.skip("has no threads")
    one, two = (build(pairs, threads=threads).fit(pairs).align(pairs) for threads in (1, 2))
    assert one.links == two.links
    np.testing.assert_array_equal(one.confidence, two.confidence)


@pytest.mark.parametrize("rows", [1, 3])
def test_links_do_not_depend_on_chunks(build, rows):
    pairs = word_pairs(*([*lines, "", "cat"] for lines in PLAIN))
    fitted = build(pairs).fit(pairs)
    check_alignments(fitted.align(pairs.slice(4, 4)), pairs.slice(4, 4))
    for align in (fitted.align, fitted.align_training_pairs):
        whole = align(pairs)
        parts = [align(chunk) for chunk in pairs.chunks(rows)]
        assert [
            row for part in parts for row in part.links.to_lists()
        ] == whole.links.to_lists()
        confidence = np.concatenate([part.confidence for part in parts])
        np.testing.assert_allclose(confidence, whole.confidence, rtol=1e-4)


def test_saved_model_aligns_new_text(build, tmp_path):
    pairs = word_pairs(*PLAIN)
    fitted = build(pairs).fit(pairs)
    if not fitted.aligner.can_save:
        with pytest.raises(DataError, match="has no model to save"):
            fitted.save(tmp_path / "model")
        return
    fitted.save(tmp_path / "model")
    again = load_aligner(tmp_path / "model")
    assert again.aligner == fitted.aligner
    unknown = ["quagga xyzzy", "the quagga reads", "", "a doctor", "doctor the"]
    new = word_pairs(unknown, ["plugh", "die quagga liest", "x", "ein", ""])
    for text in (pairs, new):
        check_alignments(again.align(text), text)
        one, other = fitted.align(text), again.align(text)
        assert one.links == other.links
        np.testing.assert_array_equal(one.confidence, other.confidence)
    assert len(again.align(new).links[1]) > 0


def test_lexicon_prior_is_used_or_rejected(build, caplog):
    pairs = word_pairs(*PLAIN)
    priors = Lexicon.of(
        [("Cat", "Katze", 1.0), ("doctor", "arzt", 7.5), ("quagga", "xyzzy", 2.0)]
    )
    with caplog.at_level(logging.WARNING):
        found = build(pairs).fit(pairs, priors).align(pairs)
    check_alignments(found, pairs)
    if build.name in {"similarity", "pharaoh"}:
        assert "priors" in caplog.text


@pytest.mark.parametrize("lines", [([], []), (["", "a"], ["b", " "])])
def test_rejects_text_without_words(build, lines):
    pairs = word_pairs(*lines)
    with pytest.raises(DataError):
        build(pairs).fit(pairs)


SCENES = 1500


@pytest.fixture(scope="module")
def scenes():
    return sampling.sample(SCENES)


@pytest.mark.parametrize("language", sorted(set(languages.LANGUAGES.names()) - {"en"}))
def test_aligns_the_toy_corpus(build, scenes, language):
    if not ALIGNERS.get(build.name).can_save:
        pytest.skip("has no model to save from text")
    if build.name in ENCODERS:
        pytest.skip("needs an encoder that knows the languages")
    text = languages.pairs("en", language, scenes)
    pairs = WordPairs.of([text])
    score = f1(build(pairs).fit(pairs).align(pairs).links, text.links)
    assert score > FLOOR


def f1(found, gold):
    sides = (
        map(tuple, np.column_stack([side.rows(), side.flat]).tolist()) for side in (found, gold)
    )
    ours, theirs = map(set, sides)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def test_a_huge_pair_costs_the_others_neither_time_nor_links(build, caplog):
    """Of 40,000 words a side, or a product of that size, nothing is aligned, as no sentence is that long."""
    if build.name in {"similarity", "pharaoh"}:
        pytest.skip("reads a part of the sentence, or links made elsewhere")
    huge = (
        " ".join(f"w{number}" for number in range(40_000)),
        " ".join(f"v{number}" for number in range(40_000)),
    )
    pairs = word_pairs([*PLAIN[0], huge[0], "the cat"], [*PLAIN[1], huge[1], "die katze"])
    aligner = build(pairs)
    fitted = aligner.fit(pairs)
    for alignments in (fitted.align(pairs), fitted.align_training_pairs(pairs)):
        check_alignments(alignments, pairs)
        assert len(alignments.links[10]) == 0
        assert len(alignments.links[11]) > 0
    assert "1 of 12 pairs" in caplog.text
    alone = word_pairs([huge[0], ""], [huge[1], "die"])
    with pytest.raises(DataError, match="too long"):
        build(alone).fit(alone)
