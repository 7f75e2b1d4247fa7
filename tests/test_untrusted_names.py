"""Names in a recipe, a study or an option write nothing outside the folder that was given."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core import files
from interlace.core.errors import DataError, InterlaceError, SettingsError
from interlace.core.names import check_language, check_name, check_pair, file_in
from interlace.data.cache import cached, folder_of
from interlace.embeddings import WordVectors
from interlace.experiments.card import write_card
from interlace.experiments.mixing import write_dictionaries
from interlace.experiments.recipe import Recipe
from interlace.experiments.studies import Study
from interlace.experiments.studies.folder import StudyFolder
from interlace.experiments.studies.running import _Runner
from interlace.objectives.common.dictionaries import Dictionary
from interlace.text.lines import write_lines
from interlace.training.run_folder import append_line, locked

OUTSIDE = ["/srv/victim", "../../../x", "en/../../x", "a\\b", "..", "", "a\0b", "a\n", "x" * 300]
SYSTEM = {"recipe": "tiny/mlm"}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("check", [check_language, check_pair, check_name])
def test_rejects_names_that_lead_to_other_folders(check, name):
    with pytest.raises(ValueError, match="it becomes a part of file names"):
        check(name)


def test_accepts_ordinary_names():
    assert [check_language(name) for name in ("en", "zh_tw", "en_x_inv", "en-de", "ქართული")]
    assert [check_name(name) for name in ("text", "held-out", "train.steps", "mlm+tlm")]
    assert check_pair("en-en_x") == "en-en_x"


def text_in(*languages):
    return {"corpora": {"text": {"languages": list(languages), "train": "a.{language}"}}}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize(
    ("place", "key"),
    [
        (lambda name: text_in("en", name), "corpora.text.languages.1"),
        (lambda name: {"corpora": {"p": {"pairs": [f"en-{name}"], "train": "a"}}}, "corpora.p.pairs.0"),
        (lambda name: {"corpora": {name: {"languages": ["en"], "train": "a"}}}, "corpora."),
        (lambda name: {"derived": {name: {"of": "en", "transformations": "invert"}}}, "derived."),
        (lambda name: {"evaluate": {"targets": [name]}}, "evaluate.targets.0"),
        (lambda name: {"evaluate": {"source": name}}, "evaluate.source"),
        (lambda name: {"evaluate": {"tasks": {name: {"task": "pos"}}}}, "evaluate.tasks."),
        (lambda name: {"toy": {"languages": ["en", name]}}, "toy.languages"),
    ],
)
def test_a_recipe_cannot_have_such_a_name(place, key, name):
    with pytest.raises(SettingsError) as caught:
        Recipe.read({"name": "x", **place(name)}, "r.toml")
    assert str(caught.value).startswith(f"r.toml: {key}")
    assert "expected" in str(caught.value) or "such as" in str(caught.value) or "no toy language" in str(caught.value)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_study_and_a_dictionary_cannot_have_such_a_name(name):
    with pytest.raises(SettingsError, match=r"systems\."):
        Study.read({"name": "s", "systems": {name: SYSTEM}})
    with pytest.raises(SettingsError, match=r"axes\."):
        Study.read({"name": "s", "systems": {"a": SYSTEM}, "axes": {name: [1, 2]}})
    with pytest.raises(SettingsError, match="such as 'en-de'"):
        Dictionary(pairs=[f"en-{name}"])


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/b", "", "..", "a\\b"])
def test_no_file_is_written_by_such_a_name(tmp_path, name):
    inner = tmp_path / "a" / "b"
    vectors = WordVectors(name and f"{name}/x", ["word"], np.ones((1, 2), np.float32))
    with pytest.raises(DataError, match="cannot be the name of a file"):
        file_in(inner, name)
    with pytest.raises(DataError, match="cannot be the name of a file"):
        StudyFolder(inner).cell(name)
    if name:
        with pytest.raises(DataError, match="cannot be the name of a file"):
            vectors.save(inner)
        with pytest.raises(DataError, match="cannot be the name of a file"):
            write_dictionaries({f"align_mlm.{name}/x": None}, inner)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def run(*arguments):
    return CliRunner().invoke(application(), list(arguments))


def test_deriving_writes_its_dictionary_inside(tmp_path):
    (tmp_path / "a.txt").write_text("a cat\n")
    into = tmp_path / "out" / "x"
    options = ["--transformations", "invert", "--language", "../../en", "--output", str(into)]
    assert isinstance(run("derive", str(tmp_path / "a.txt"), *options).exception, SettingsError)
    assert not into.parent.exists()


@pytest.mark.parametrize("option", [["--output", ""], ["--output="]])
@pytest.mark.parametrize("command", ["toy", "pretrain tiny/mlm", "vocab a.en", "report x", "translate x"])
def test_an_empty_output_is_refused(tmp_path, monkeypatch, option, command):
    monkeypatch.chdir(tmp_path)
    done = run(*command.split(), *option)
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "expected a path" in done.output


def test_a_link_at_the_name_of_a_partial_file_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "known")
    name = f".a.txt.{os.getpid()}-{files._HOST}-known.partial.txt"
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(OSError, match="File exists"):
        write_lines(tmp_path / "a.txt", ["line"])
    assert victim.read_text() == "kept"


def test_a_link_in_place_of_word_vectors_is_replaced(tmp_path):
    (tmp_path / "victim").write_text("kept")
    for suffix in (".words", ".safetensors"):
        (tmp_path / f"en{suffix}").symlink_to(tmp_path / "victim")
    WordVectors("en", ["word"], np.ones((1, 2), np.float32)).save(tmp_path)
    assert (tmp_path / "victim").read_text() == "kept"
    assert WordVectors.load(tmp_path, "en").words == ["word"]


GROWING = {
    ".lock": lambda folder: locked(folder).__enter__(),
    "metrics.jsonl": lambda folder: append_line(folder / "metrics.jsonl", {"step": 1}),
    "log.txt": lambda folder: _Runner._run_command(None, ["list"], folder / "log.txt", 0),
    f"thing/.{folder_of('thing', {}).name}.lock": lambda _: cached("thing", {}, lambda into: None),
}


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("name", GROWING)
def test_a_link_in_place_of_a_file_that_grows_is_not_followed(tmp_path, monkeypatch, name, exists):
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    (folder / name).parent.mkdir(parents=True)
    monkeypatch.setenv("INTERLACE_CACHE", str(folder))
    if exists:
        victim.write_text("kept")
    (folder / name).symlink_to(victim)
    with pytest.raises(InterlaceError, match=rf"{folder}.*symbolic link"):
        GROWING[name](folder)
    assert [path.read_text() for path in tmp_path.iterdir() if path != folder] == ["kept"] * exists


def test_a_card_holds_no_html_of_a_recipe(tmp_path):
    evil = "<script>alert(1)</script>`<img src=x>"
    recipe = {
        "name": evil,
        "about": evil,
        "model": {"start": f"some/{evil}"},
        "filters": {"separator": {"marks": [evil]}},
    }
    recipe |= {"objectives": {"mlm": {}}, **text_in("en")}
    about = {"steps": 1, "tokens": 1, "parameters": 1, "stopped": evil, "interlace": evil, "perplexity_unit": evil}
    data = {"split": "train", "languages": [evil], "rows": 1, "subwords": 1, "left_out": {evil: 1}, "aligner": evil}
    about["data"] = [{**data, "files": [{"name": evil, "bytes": 1, "digest": evil}]}]
    row = {"task": evil, "metric": evil, "unit": evil, "language": evil, "source": evil, "seed": 0, "score": 1.0}
    metrics = {"kind": "evaluation", "step": 1, "scores": {f"perplexity/{evil}": 1.0}}
    config = {"model_type": "bert", "interlace_languages": {evil: 0}}
    for name, found in {"recipe": recipe, "run": about, "scores": [row], "model/config": config}.items():
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found))
    (tmp_path / "metrics.jsonl").write_text(json.dumps(metrics) + "\n")
    card = write_card(tmp_path)
    assert card is not None
    text = card.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<img" not in text
    assert text.count("&lt;script&gt;") >= 15
