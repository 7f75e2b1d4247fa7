import os
from pathlib import Path

import pytest

from interlace.text.codes import THREE, three_letters, two_letters

WHERE = os.environ.get("INTERLACE_DATA", "")
TATOEBA = "ar bn cs zh de fi fr hi ja ka ko ru es sw ta te th tr ur vi"


def test_every_code_has_its_letters_and_is_the_only_one():
    assert len(THREE) == 184
    assert all((len(two), len(three)) == (2, 3) for two, three in THREE.items())
    assert len(set(THREE.values())) == len(THREE)


def test_there_and_back():
    for two in THREE:
        codes = three_letters(two)
        assert codes[-1] == THREE[two]
        assert [two_letters(code) for code in codes if code != "nob"] == [two] * len([c for c in codes if c != "nob"])


def test_groups_of_languages_try_the_one_that_is_meant_first():
    assert three_letters("zh") == ("cmn", "zho")
    assert three_letters("sw") == ("swh", "swa")
    assert three_letters("ar") == ("ara",)


def test_what_has_no_other_code_is_its_own():
    assert three_letters("xx-new") == ("xx-new",)
    assert two_letters("deu-inverted") == "deu-inverted"


@pytest.mark.skipif(not Path(WHERE, "parallel/tatoeba").is_dir(), reason="INTERLACE_DATA is not set")
def test_all_languages_of_tatoeba():
    there = {path.suffix[1:] for path in Path(WHERE, "parallel/tatoeba").iterdir()}
    for language in TATOEBA.split():
        assert there & set(three_letters(language)), language
    assert {two_letters(code) for code in there} == {"en", *TATOEBA.split()}
