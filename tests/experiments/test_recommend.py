"""Recommendations: what fits which data, evidence that is on its page, and a study that runs."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import DataError, SettingsError
from interlace.experiments.mixing import with_limited_lengths
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.experiments.recommend import evidence, recommend, text_files, write_study
from interlace.scores.published import find_rows
from little_checkpoints import LONGEST, save

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def files(tmp_path):
    """Translations, and text without any."""
    words = ["house", "dog", "book", "street", "light"]
    lines = [f"the {one} sees the {words[number % 5]} {number} ." for one in words for number in range(420)]
    lines[1000:] = lines[:1100]  # copies
    (tmp_path / "train.en").write_text("\n".join(lines) + "\n")
    (tmp_path / "train.de").write_text("\n".join(line.replace("the", "das") for line in lines) + "\n")
    (tmp_path / "more.en").write_text("\n".join(lines[:30]) + "\n")
    return [tmp_path / name for name in ("train.en", "train.de", "more.en")]


def fitting(found):
    return {each.objective for each in found.advice if each.fits}


def test_what_fits_depends_on_pairs_dictionary_and_checkpoint(files, tmp_path):
    both = recommend(text_files(files, ["en", "de", "en"]))
    assert [(a.path.name, b.path.name) for a, b in both.pairs] == [("train.en", "train.de")]
    assert fitting(both) == {"mlm", "tlm", "alm", "weam", "align_mlm", "dict_mlm"}
    alone = recommend(text_files(files[:1], ["en"]))
    assert fitting(alone) == {"mlm"}
    (tmp_path / "dict.txt").write_text("house Haus\ndog Hund\n")
    with_dictionary = recommend(text_files(files[:1], ["en"]), dictionary=tmp_path / "dict.txt")
    assert fitting(with_dictionary) == {"mlm", "align_mlm", "dict_mlm"}
    with pytest.raises(SettingsError, match=r"languages.*found '\('"):
        recommend(text_files(files[:2], ["en", "("]))
    with pytest.raises(SettingsError, match="no translations"):
        write_study(alone, tmp_path / "study")
    for language in ("en", "de"):  # a second corpus of the pair: both have held-out lines in one file
        (tmp_path / f"b.{language}").write_text(files[0].read_text())
    two = text_files([*files[:2], tmp_path / "b.en", tmp_path / "b.de"], ["en", "de"] * 2)
    write_study(recommend(two), tmp_path / "two")
    assert read_recipe(f"{tmp_path / 'two' / 'recipe.toml'}:tlm").evaluate.targets == ["de"]
    assert len((tmp_path / "two" / "heldout.en-de.de").read_text().splitlines()) == 2 * two[0].held_out
    for language in ("en", "de"):
        (tmp_path / f"few.{language}").write_text("a b\n" * 400)
    few = text_files([tmp_path / "few.en", tmp_path / "few.de"], ["en", "de"])
    with pytest.raises(SettingsError, match=r"few\.en and few\.de: 400 pairs; .* at least 2,000"):
        write_study(recommend(few), tmp_path / "study")
    (tmp_path / "few.de").write_text("a b\n" * 399)
    with pytest.raises(DataError, match=r"few\.en has 400 lines, .*few\.de 399"):
        recommend(text_files([tmp_path / "few.en", tmp_path / "few.de"], ["en", "de"]))
    with pytest.raises(DataError, match=r"none\.en"):
        text_files([tmp_path / "none.en"], ["en"])
    with pytest.raises(SettingsError, match=r"more: the language is unknown"):
        text_files([files[2].rename(tmp_path / "more")], [""])


def test_lengths_fit_checkpoints_with_few_positions(files, tmp_path):
    start = save("xlm-r", tmp_path / "start")
    recipe = recommend(text_files(files[:2], ["en", "de"]), start=str(start)).recipes["tlm"]
    limited = with_limited_lengths(Recipe.read(recipe), SimpleNamespace(max_length=LONGEST))
    assert [limited.objective(name).max_length for name in ("mlm", "tlm")] == [LONGEST, LONGEST]


def test_writes_a_study_that_runs_on_text_it_does_not_test_on(files, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "interlace")
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))
    into = tmp_path / "study"
    call = ["recommend", *map(str, files[:2]), "--steps", "2", "-o", str(into)]
    done = CliRunner().invoke(application(), call, catch_exceptions=False)
    assert "tlm: reads pairs without alignments" in done.stdout
    german = files[1].read_text().splitlines()
    held, kept = ((into / name).read_text().splitlines() for name in ("heldout.en-de.de", "text1.de"))
    assert len(held) == 105
    assert held != german[:105]
    assert not {*held} & {*kept}
    assert {*held} | {*kept} == {*german}
    assert f"{files[1]}: {2100 - 105 - len(kept)} lines left out" in caplog.text
    rest = (into / "text0.en").read_text().splitlines()
    assert [line.replace("the", "das") for line in rest] == kept
    recipe = f"{into / 'recipe.toml'}:tlm"
    call = ["pretrain", recipe, "-o", str(tmp_path / "run"), "--set", f"data_root={into}", "--set", "vocab.size=300"]
    assert CliRunner().invoke(application(), call, catch_exceptions=False).exit_code == 0
    call = ["evaluate", str(tmp_path / "run"), "--tasks", "retrieval"]
    assert "retrieval" in CliRunner().invoke(application(), call, catch_exceptions=False).stdout
    call = ["study", str(into / "study.toml"), "--dry-run"]
    assert "weam,seed=4" in CliRunner().invoke(application(), call, catch_exceptions=False).stdout


def test_evidence_is_what_papers_and_pages_say():
    for entry in evidence()["papers"]:
        for side in ("system", "against"):
            assert find_rows(entry[side], "xnli", columns=[entry["column"]])[0].scores
    for entry in evidence()["ours"]:
        figure = f"{entry['difference']:+.1f} ± {entry['interval']:.1f}"
        assert figure in (DOCS / entry["page"]).read_text(encoding="utf-8")
