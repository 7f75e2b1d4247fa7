"""What every method of word vectors must keep, found by listing the room: on two languages, one the other rotated."""

import numpy as np
import pytest

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.embeddings import EMBEDDING_METHODS, EmbeddingSources, WordVectors
from interlace.embeddings.concat import Interleaved

pytest.importorskip("gensim")

SKIPGRAM = {"width": 8, "min_count": 1, "epochs": 2, "buckets": 100}
MAPPING = {"normalization": [], "refinements": 2}
SETTINGS = {
    "concat": {"skipgram": SKIPGRAM},
    "procrustes": {"skipgram": SKIPGRAM, "mapping": MAPPING},
    "identical": {"skipgram": SKIPGRAM, "mapping": MAPPING},
    "muse": {
        "skipgram": SKIPGRAM,
        "mapping": MAPPING,
        "adversary": {"hidden": 8, "epochs": 2, "updates": 5, "discriminator_steps": 1},
    },
}
SENTENCES = {
    "en": ["the cat sees Anna".split(), "the dog sees the cat".split(), "a dog reads".split()]
    * 8,
    "de": [
        "die Katze sieht Anna".split(),
        "der Hund sieht die Katze".split(),
        "ein Hund liest".split(),
    ]
    * 8,
}
LEXICON = Lexicon.of(
    [("cat", "katze", 1), ("dog", "Hund", 1), ("reads", "liest", 1), ("sees", "sieht", 1)]
)
TEXT = EmbeddingSources(texts=SENTENCES, dictionaries={("en", "de"): LEXICON})


@pytest.fixture(params=EMBEDDING_METHODS.names())
def name(request):
    return request.param


@pytest.fixture
def method(name):
    return EMBEDDING_METHODS.build({"name": name, **SETTINGS[name]})


@pytest.fixture
def maps(name, method):
    if "texts" in method.needs:
        pytest.skip("learns from text alone")
    return name


def test_languages_share_one_vector_space(method):
    found = method.fit(TEXT).vectors
    assert list(found) == ["en", "de"]
    for language, vectors in found.items():
        assert vectors.language == language
        assert set(vectors.words) == {word for line in SENTENCES[language] for word in line}
        assert vectors.vectors.shape == (len(vectors), 8)
        assert vectors.vectors.dtype == np.float32
        assert np.isfinite(vectors.vectors).all()
    assert found["en"].words[0] == "the"  # the most frequent first


def test_vectors_depend_on_the_seed_only(method):
    one, two, other = (method.fit(TEXT, seed).vectors["de"].vectors for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_only_joint_methods_accept_mixed_text(method):
    """Then a word of two languages has one vector: the same that both have where the languages are told apart."""
    joined = EmbeddingSources(texts={"all": Interleaved(SENTENCES)})
    if not method.joint:
        with pytest.raises(
            SettingsError, match=r"mapping\.pivot = 'en', but it has no vectors or text"
        ):
            method.fit(joined)
        return
    found, apart = method.fit(joined).vectors["all"], method.fit(TEXT).vectors
    for language, vectors in apart.items():
        np.testing.assert_array_equal(
            found.vectors[found.find(vectors.words)], vectors.vectors, language
        )


def test_rejects_text_without_frequent_words(name):
    changed = SETTINGS[name] | {"skipgram": SKIPGRAM | {"min_count": 10_000}}
    with pytest.raises(DataError, match=r"lower 'skipgram\.min_count'"):
        EMBEDDING_METHODS.build({"name": name, **changed}).fit(TEXT)


def test_the_pivot_must_be_one_of_the_languages(maps):
    changed = SETTINGS[maps] | {"mapping": {"pivot": "dee"}}
    with pytest.raises(SettingsError, match=r"mapping\.pivot = 'dee'.*did you mean 'de'"):
        EMBEDDING_METHODS.build({"name": maps, **changed}).fit(TEXT)


@pytest.mark.usefixtures("maps")
def test_mapping_keeps_distances_and_pivot_vectors(method):
    rng = np.random.default_rng(0)
    given = {
        language: WordVectors(
            language,
            sorted({word for line in lines for word in line}),
            rng.normal(size=(count, 3)).astype("f"),
        )
        for (language, lines), count in zip(SENTENCES.items(), (7, 8), strict=True)
    }
    found = method.fit(EmbeddingSources(vectors=given, dictionaries=TEXT.dictionaries)).vectors
    np.testing.assert_array_equal(found["en"].vectors, given["en"].vectors)
    before, after = (vectors["de"].vectors for vectors in (given, found))
    np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-4)


@pytest.mark.usefixtures("maps")
def test_rejects_vectors_of_different_widths(method):
    given = {
        "en": WordVectors("en", ["Anna", "cat"], np.ones((2, 3), np.float32)),
        "de": WordVectors("de", ["Anna", "katze"], np.ones((2, 4), np.float32)),
    }
    with pytest.raises(DataError, match="'de' have width 4, of 'en' 3"):
        method.fit(EmbeddingSources(vectors=given, dictionaries=TEXT.dictionaries))
