"""`interlace preview`: two sentences as an objective makes them."""

import pytest

from command_line import command
from interlace.core.errors import DataError, SettingsError


def shown(*arguments):
    return command("preview", *arguments).stdout


def test_shows_sentences_and_batches():
    lines = shown("clm").splitlines()
    assert lines[0] == "en: today the old doctor reads three letters"
    assert "next   today  the    old  doctor  reads   three  letters" in lines
    assert "\nalignments: today-heute the-der old-alte doctor-Arzt " in shown("weam")
    assert "\ndictionary: today-heute the-der " in shown("align_mlm")
    assert "alignments" not in shown("mlm")


def test_own_sentences():
    own = ["--source", "the cat sleeps", "--target", "le chat dort"]
    own += ["--languages", "en,inverted"]  # as in recipes, any name
    text = shown("word_aligned", *own, "--alignments", "1-1")
    assert ["aligned", "to", "chat"] in [line.split() for line in text.splitlines()]
    assert "en-inverted:" in text
    with pytest.raises(DataError, match="9-0 is out of range"):
        shown("weam", "--alignments", "9-0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nmlm"], "there is no objective 'nmlm'; did you mean 'mlm'"),
        (["mlm", "--languages", "en"], "expected source and target, such as en,de"),
        (["weam", "--set", "reset_positions=3"], "reset_positions"),
        (["tlm", "--set", "language_ids=true"], "no language embeddings"),
    ],
)
def test_rejects_invalid_options(arguments, message):
    with pytest.raises(SettingsError, match=message):
        shown(*arguments)
