from dataclasses import replace

import numpy as np
import pytest

from interlace.core.errors import DataError
from interlace.embeddings import WordVectors
from interlace.tasks.common.vectors import WordVectorSettings
from interlace.tasks.word_translation import WordTranslation
from little_files import write
from vector_files import in_the_plane


@pytest.fixture
def root(tmp_path):
    """Writes a dictionary and returns the folder it stands in."""

    def put(*pairs):
        write(tmp_path, "dict/en-de.txt", *pairs)
        return tmp_path

    return put


def learned(folder, *pairs):
    """A run that was trained on some entries."""
    rows = [(*pair, "train", "used") for pair in pairs]
    header = "en\tde\tpart\tstatus"
    write(folder, "run/dictionaries/align_mlm.en-de.tsv", header, *rows)
    return folder / "run"


def scored(root, vectors, run=None, **settings):
    task = WordTranslation(**settings).bind(run)
    return task.measure_words(
        {side.language: side for side in vectors}, task.examples("test", "de", None, root)
    )


def test_scores_by_hand(root):
    """cat finds Katze; dog finds Katze first and Hund second; both have neighbours enough to count all (k = 10)."""
    vectors = in_the_plane("en", cat=0, dog=90), in_the_plane("de", Katze=30, Hund=170)
    found = scored(root(("cat", "Katze"), ("dog", "Hund")), vectors)
    assert found["p@1 cosine"] == 50
    assert found["p@5 cosine"] == 100
    assert found["mean cosine"] == pytest.approx(
        (np.cos(np.radians(30)) + np.cos(np.radians(80))) / 2
    )
    law_of_cosines = [np.sqrt(1 + 4 - 4 * np.cos(np.radians(angle))) for angle in (30, 80)]
    assert found["mean distance"] == pytest.approx(np.mean(law_of_cosines))
    assert found["coverage"] == 100
    # r(Katze) = (cos 30 + cos 60) / 2 = .683, r(Hund) = (cos 170 + cos 80) / 2 = -.406.
    # dog: 2 cos 60 - .683 = .317 for Katze, 2 cos 80 + .406 = .753 for Hund; cat: 1.049 against -1.564.
    assert found["p@1 csls"] == 100


def test_any_translation_of_a_word_counts(root):
    vectors = in_the_plane("en", cat=0), in_the_plane("de", Katze=80, Kater=1, Hund=40)
    found = scored(
        root(("cat", "Katze"), ("cat", "Kater"), ("cat", "Katze"), ("x", "Hund")), vectors
    )
    assert found["p@1 cosine"] == 100
    assert found["coverage"] == 50
    with pytest.raises(
        DataError, match="none of the 1 entries from 'en' to 'de' has a vector for both words"
    ):
        scored(root(("cat", "Mieze")), vectors)


def test_candidates_come_from_dictionary_or_vocabulary(root, monkeypatch):
    vectors = (
        in_the_plane("en", cat=0, dog=90),
        in_the_plane("de", Katze=5, Hund=85, Maus=1, Ratte=89),
    )
    folder = root(("cat", "Katze"), ("dog", "Hund"))
    for candidates, hits, size in [("dictionary", 100, 2), ("vocabulary", 0, 4)]:
        found = scored(folder, vectors, candidates=candidates)
        assert (found["p@1 cosine"], found.details) == (
            hits,
            {"candidates": {candidates: size}},
        )
    monkeypatch.setattr("interlace.tasks.word_translation.MAX_WORDS", 3)
    found = scored(folder, vectors)
    assert (found["p@1 cosine"], found.details) == (50, {"candidates": {"vocabulary": 3}})


def test_a_vector_that_both_languages_share_is_no_candidate_for_itself(root):
    """gift, one row for both languages, finds Geschenk; rat is the translation of itself; hat has two vectors."""
    german = in_the_plane("en", Geschenk=9, gift=0, rat=90, hat=201, Hut=205)
    vectors = (
        in_the_plane("en", gift=0, rat=90, hat=200),
        WordVectors("de", german.words, german.vectors),
    )
    folder = root(("gift", "Geschenk"), ("rat", "rat"), ("hat", "Hut"))
    found = scored(folder, vectors)
    assert found["p@1 cosine"] == pytest.approx(200 / 3)
    assert found.details == {"candidates": {"vocabulary": 5}}


ANIMALS = [("cat", "Katze"), ("dog", "Hund"), ("hound", "Hund"), ("mouse", "Maus")]
PLACES = (
    in_the_plane("en", cat=0, dog=90, hound=85, mouse=180),
    in_the_plane("de", Katze=5, Hund=92, Maus=300),
)


def test_the_score_is_over_held_out_words_if_there_are_any(root, caplog):
    """Learnt: dog. So hound, whose translation was read, is neither seen nor held out; cat and mouse are held out."""
    folder = root(*ANIMALS)
    found = scored(folder, PLACES, learned(folder, ("Dog", "hund")))
    assert found["held out"] == 50
    assert (found["p@1 cosine"], found["p@1 cosine, seen"], found["p@1 cosine, all"]) == (
        50,
        100,
        75,
    )
    found = scored(folder, PLACES, learned(folder, *ANIMALS))
    assert (found["held out"], found["p@1 cosine"], found["p@1 cosine, seen"]) == (0, 75, 75)
    assert "word_translation, en-de: all words" in caplog.text


def test_shared_rows_stay_with_their_words(root):
    """Entries stand in another order than their vectors, and two of them, which differ in case, have the same one."""
    task = WordTranslation()
    folder = root(("Doctor", "Arzt"), ("doctor", "arzt"), ("dog", "Hund"), ("cat", "Katze"))
    examples = replace(
        task.examples("test", "de", None, folder), shared=np.array([False, False, False, True])
    )
    # cat is no neighbor of Katze; doctor and dog are found. Only cat shares an embedding row with a training entry.
    vectors = (
        in_the_plane("en", cat=170, dog=90, doctor=0),
        in_the_plane("de", arzt=0, Hund=90, Katze=60),
    )
    found = task.measure_words({side.language: side for side in vectors}, examples)
    assert found["p@1 cosine"] == 100
    assert found["p@1 cosine, all"] == pytest.approx(200 / 3)
    assert found["held out"] == pytest.approx(200 / 3)
    assert found.outcomes.weight.tolist() == [1, 0, 1, 0]  # Doctor, doctor, dog, cat


def test_reads_the_training_dictionaries_of_a_run(root, tmp_path):
    folder = root(*ANIMALS)
    kept = tmp_path / "run/dictionaries"
    kept.mkdir(parents=True)
    (kept / "align_mlm.de-en.tsv").write_text(
        "de\ten\tpart\tstatus\nMaus\tmouse\ttrain\tused\nKatze\tcat\ttrain\tidentical\nHund\tdog\theld-out\tused\n"
    )
    # Words of other pairs and of the start count for their own languages.
    (kept / "align_mlm.en-fr.tsv").write_text("en\tfr\tpart\tstatus\ncat\tchat\ttrain\tused\n")
    (kept / "start0.align_mlm.de-fr.tsv").write_text(
        "de\tfr\tpart\tstatus\nHund\tchien\ttrain\tused\n"
    )
    task = WordTranslation().bind(tmp_path / "run")

    trained = task.examples("test", "de", None, folder).trained
    assert (trained.source, trained.target) == ({"mouse", "cat"}, {"maus", "hund"})
    assert set(trained.words) == {"mouse", "Maus", "cat", "chat", "Hund", "chien"}


def test_reads_input_embeddings(vocab, model):
    backbone = model()
    table = backbone.input_embeddings.detach().numpy()
    ids = vocab.encode_words(["doctor", "xy"])
    assert ids.lengths.tolist()[0] == 1 < ids.lengths.tolist()[1]
    found = WordVectorSettings().vectors(backbone, vocab, "en", ["doctor", "xy", "doctor"])
    assert found.words == ["doctor", "xy"]
    np.testing.assert_allclose(
        found.vectors, [table[ids[0]].mean(0), table[ids[1]].mean(0)], atol=1e-7
    )
    assert WordVectorSettings(multi_subword="skip").vectors(
        backbone, vocab, "en", ["xy", "doctor"]
    ).words == ["doctor"]
