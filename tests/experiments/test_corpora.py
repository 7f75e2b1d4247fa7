"""Corpora that read a part of their files."""

from __future__ import annotations

import pytest

from interlace.core.errors import SettingsError
from interlace.experiments.contamination import training_text
from interlace.experiments.prepare import prepare
from interlace.experiments.recipe import Recipe


@pytest.fixture
def rows(tmp_path):
    for language in ("en", "de"):
        lines = "".join(f"{language} line {row}\n" for row in range(2000))
        (tmp_path / f"train.{language}").write_text(lines, encoding="utf-8")

    def recipe(**parts):
        paths = ["train.{source}", "train.{target}"]
        corpora = {
            "pairs": {"pairs": ["en-de"], "train": paths, "dev": paths, **parts},
            "text": {"languages": ["de"], "train": "train.{language}", **parts},
        }
        return Recipe.read({"name": "parts", "data_root": str(tmp_path), "corpora": corpora, "vocab": {"size": 300}})

    return recipe


def test_rows_and_shares_make_corpora_of_their_own_and_leave_held_out_text_whole(rows):
    sizes = {}
    for name, parts in {"all": {}, "half": {"rows": "1000:"}, "some": {"rows": "1000:", "share": 0.1}}.items():
        built = prepare(rows(**parts))
        sizes[name] = len(built.train["en-de"])
        assert len(built.train["de"]) == sizes[name]  # the same rows of files that correspond
        assert len(built.dev["en-de"]) == 2000
    assert (sizes["all"], sizes["half"]) == (2000, 1000)
    assert 60 < sizes["some"] < 140


def test_what_is_looked_for_leaks_is_what_is_read(rows):
    read = [line for text, _ in training_text(rows(rows="5:7")) for line in text.lines]
    assert read == ["en line 5", "en line 6", "de line 5", "de line 6", "de line 5", "de line 6"]


@pytest.mark.parametrize("wrong", [{"rows": "5-7"}, {"rows": "-5:"}, {"share": 0}, {"share": 1.5}])
def test_what_is_no_part_is_refused(rows, wrong):
    with pytest.raises(SettingsError, match=r"corpora.*(rows|share)"):
        rows(**wrong)
