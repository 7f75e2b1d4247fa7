"""Models in folders: what is written about them and said of damaged ones."""

import numpy as np
import pytest

from interlace.aligners import ALIGNER_FILE, ALIGNERS, load_aligner
from interlace.alignment import WordPairs
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged

LEARNING = [
    name
    for name in ALIGNERS.names()
    if ALIGNERS.get(name).can_save and "start" not in ALIGNERS.get(name).model_fields
]


def pairs(languages=("en", "de"), word_tokenizer="moses"):
    rows = Ragged.of([[0, 1], [0], [1]])
    return WordPairs(rows, rows, ["the", "cat"], ["die", "Katze"], languages, word_tokenizer)


@pytest.fixture(params=LEARNING, scope="module")
def fitted(request):
    return ALIGNERS.build(request.param).fit(pairs())


def test_a_model_remembers_what_it_was_learnt_from(fitted, tmp_path):
    fitted.save(tmp_path / "model", pairs())
    trained_on = load_aligner(tmp_path / "model").trained_on
    assert (trained_on.languages, trained_on.word_tokenizer) == (("en", "de"), "moses")
    load_aligner(tmp_path / "model").save(tmp_path / "again")
    assert load_aligner(tmp_path / "again").trained_on == trained_on
    fitted.save(tmp_path / "bare")
    # as in folders that older versions wrote
    assert load_aligner(tmp_path / "bare").trained_on is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "damaged: input should be a valid dictionary, found \\[\\]"),
        ("{", "damaged: Expecting property name"),
        ("{}", "key 'aligner' is required"),
        ('{"aligner": 3, "settings": {}}', "aligner: input should be a valid string"),
        ('{"format": 2, "aligner": "gibbs", "settings": {}}', "format 2 of a newer interlace"),
        ('{"aligner": "gibs", "settings": {}}', "no aligner 'gibs'; did you mean 'gibbs'"),
        (
            '{"aligner": "gibbs", "settings": {"sweep": 1}}',
            "unknown key 'sweep'; did you mean 'sweeps'",
        ),
    ],
)
def test_rejects_damaged_descriptions(fitted, tmp_path, text, said):
    fitted.save(tmp_path / "model")
    (tmp_path / "model" / ALIGNER_FILE).write_text(text)
    with pytest.raises((DataError, SettingsError), match=said):
        load_aligner(tmp_path / "model")


def test_rejects_repeated_words(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    (tmp_path / "model" / "source.words").write_text("the\nthe\n")
    with pytest.raises(DataError, match=r"damaged model.* duplicate"):
        load_aligner(tmp_path / "model")


def damages(array):
    """An array of another kind, shape or length, and arrays with values out of range."""
    yield np.zeros(array.shape, "complex64")
    yield array[None]
    yield array.max()
    yield array[:-1]
    yield -array - 1
    beyond = 90 if array.dtype == np.int32 else np.inf
    yield (array + beyond).astype(array.dtype)


def test_rejects_damaged_arrays(fitted, tmp_path):
    arrays, types = fitted.arrays(), fitted.types()
    for name, array in arrays.items():
        without = {key: value for key, value in arrays.items() if key != name}
        with pytest.raises(DataError, match=f"damaged model.*'{name}' is missing"):
            fitted.aligner.restore(without, *types, tmp_path)
        for damaged in damages(array):
            with pytest.raises(DataError, match="damaged model"):
                fitted.aligner.restore({**arrays, name: damaged}, *types, tmp_path)
    with pytest.raises(DataError, match="damaged model"):
        fitted.aligner.restore(arrays, types[0][:-1], types[1], tmp_path)


def test_never_replaces_other_folders(fitted, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=f"no {ALIGNER_FILE}"):
        fitted.save(tmp_path / "model")
