"""Names in a recipe, a study or an option write nothing outside the folder that was given."""

import json
import os
from itertools import pairwise

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core import files
from interlace.core.display import visible
from interlace.core.errors import DataError, InterlaceError, SettingsError
from interlace.core.names import file_in
from interlace.data.cache import cached, folder_of
from interlace.embeddings import WordVectors
from interlace.experiments.card import write_card
from interlace.experiments.mixing import write_dictionaries
from interlace.experiments.recipe import Recipe
from interlace.experiments.studies import Study
from interlace.experiments.studies.folder import StudyFolder
from interlace.experiments.studies.running import run_logged
from interlace.text.lines import write_lines
from interlace.training.run_folder import append_line, locked

OUTSIDE = [
    "/srv/victim",
    "../../../x",
    "en/../../x",
    "a\\b",
    "..",
    "",
    "a\0b",
    "a\n",
    "x" * 300,
]
SYSTEM = {"recipe": "tiny/mlm"}


def text_in(*languages):
    return {"corpora": {"text": {"languages": list(languages), "train": "a.{language}"}}}


def with_name(section, name):
    """A recipe that has the name at this place."""
    group = {"languages": ["en"], "train": "a"}
    sections = {
        "corpora.text.languages.1": text_in("en", name),
        "corpora.p.pairs.0": {"corpora": {"p": {"pairs": [f"en-{name}"], "train": "a"}}},
        "corpora.": {"corpora": {name: group}},
        "derived.": {"derived": {name: {"of": "en", "transformations": "invert"}}},
        "evaluate.targets.0": {"evaluate": {"targets": [name]}},
        "evaluate.source": {"evaluate": {"source": name}},
        "evaluate.tasks.": {"evaluate": {"tasks": {name: {"task": "pos"}}}},
        "toy.languages": {"toy": {"languages": ["en", name]}},
    }
    return {"name": "x", **sections[section]}


SECTIONS = "corpora.text.languages.1 corpora.p.pairs.0 corpora. derived. evaluate.targets.0"
SECTIONS += " evaluate.source evaluate.tasks. toy.languages"


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("section", SECTIONS.split())
def test_a_recipe_cannot_have_such_a_name(section, name):
    with pytest.raises(SettingsError, match=r"expected|such as|no toy language") as caught:
        Recipe.read(with_name(section, name), "r.toml")
    assert str(caught.value).startswith(f"r.toml: {section}")


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_study_cannot_have_such_a_name(name):
    with pytest.raises(SettingsError, match=r"systems\."):
        Study.read({"name": "s", "systems": {name: SYSTEM}})
    with pytest.raises(SettingsError, match=r"axes\."):
        Study.read({"name": "s", "systems": {"a": SYSTEM}, "axes": {name: [1, 2]}})


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/b", "", "..", "a\\b"])
def test_no_file_is_written_by_such_a_name(tmp_path, name):
    inner = tmp_path / "a" / "b"
    recipe = Recipe(name="small")
    vectors = WordVectors(f"{name}/x", ["word"], np.ones((1, 2), np.float32))
    for write in (
        lambda: file_in(inner, name),
        lambda: StudyFolder(inner).cell(name),
        lambda: vectors.save(inner),
        lambda: write_dictionaries({f"align_mlm.{name}/x": ""}, recipe, inner),
    ):
        with pytest.raises(DataError, match="cannot be the name of a file"):
            write()
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
@pytest.mark.parametrize(
    "command", ["toy", "pretrain tiny/mlm", "vocab a.en", "report x", "translate x"]
)
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
    with pytest.raises(DataError, match="File exists"):
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
    "log.txt": lambda folder: run_logged(["list"], folder / "log.txt"),
    f"thing/.{folder_of('thing', {}).name}.lock": lambda _: cached(
        "thing", {}, lambda into: None
    ),
}


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("name", GROWING)
def test_a_link_in_place_of_a_file_that_grows_is_not_followed(
    tmp_path, monkeypatch, name, exists
):
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    (folder / name).parent.mkdir(parents=True)
    monkeypatch.setenv("INTERLACE_CACHE", str(folder))
    if exists:
        victim.write_text("kept")
    (folder / name).symlink_to(victim)
    with pytest.raises(InterlaceError, match=rf"{folder}.*symbolic link"):
        GROWING[name](folder)
    assert [path.read_text() for path in tmp_path.iterdir() if path != folder] == [
        "kept"
    ] * exists


EVIL = (
    "<script>alert(1)</script>`<img src=x>",
    "x\n\n# Heading\n\n![x](https://example.org/x.png)",
    "[x](javascript:alert(1)) | \\| \\<script> ![x](x) **bold** `code`",
    "x\n---\n\n- item\n\n    code\n\n```\nfence",
)
HEADINGS = "License|How to load it|Data|Vocabulary|Training|Scores|Software".split("|")


def evil_card(tmp_path, evil):
    """The card of a run whose records all say `evil`."""
    about = dict.fromkeys(("stopped", "interlace", "perplexity_unit"), evil)
    about |= {"steps": 1, "tokens": 1, "parameters": 1}
    files = [{"name": evil, "bytes": 1, "digest": evil}]
    data = {"split": "train", "languages": [evil], "left_out": {evil: 1}, "aligner": evil}
    about["data"] = [{**data, "rows": 1, "subwords": 1, "files": files}]
    row = dict.fromkeys(("task", "metric", "unit", "language", "source"), evil)
    recipe = {"name": evil, "about": evil, "model": {"start": f"some/{evil}"}}
    records = {
        "recipe.json": {**recipe, "objectives": {"mlm": {}}, **text_in("en")},
        "run.json": about,
        "scores.json": [{**row, "seed": 0, "score": 1.0}],
        "model/config.json": {"model_type": "bert", "interlace_languages": {evil: 0}},
        "metrics.jsonl": {
            "kind": "evaluation",
            "step": 1,
            "scores": {f"perplexity/{evil}": 1.0},
        },
    }
    (tmp_path / "model").mkdir()
    for name, record in records.items():
        (tmp_path / name).write_text(json.dumps(record) + "\n")
    write_card(tmp_path)
    return (tmp_path / "model/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("evil", EVIL)
def test_a_card_holds_no_markup_of_a_recipe(tmp_path, evil):
    _, front, body = evil_card(tmp_path, evil).split("---\n", 2)
    assert yaml.safe_load(front)["library_name"] == "transformers"
    tokens = (
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(body)
    )
    headings = [
        inner.content for outer, inner in pairwise(tokens) if outer.type == "heading_open"
    ]
    assert headings[1:] == HEADINGS  # after the name
    blocks = "html_block hr code_block blockquote_open bullet_list_open ordered_list_open"
    inline = "image link_open strong_open s_open"
    parts = [*tokens, *(child for token in tokens for child in token.children or ())]
    assert not {part.type for part in parts} & {*blocks.split(), *inline.split()}
    assert {part.content for part in parts if part.type == "html_inline"} <= {"<br>"}
    assert sum(token.type == "fence" for token in tokens) == 1
    rows = ""
    for token in tokens:
        if token.type in {"th_open", "td_open"}:
            rows += "|"
        elif token.type == "tr_close":
            rows += "\n"
    assert rows.split() == ["|" * 5] * 2 + ["|" * 2] * 10 + ["|" * 5] * 2


def test_a_card_holds_no_control_characters_of_a_recipe(tmp_path):
    text = evil_card(tmp_path, "a\x1b[31m\u202eb\x07")
    assert visible(text) == text


@pytest.mark.parametrize(
    "name", ["x" * 255, "x" * 252 + ".gz", "é" * 120 + ".json", "x." + "y" * 253]
)
def test_a_file_with_a_long_name_is_written(tmp_path, name):
    with files.atomic(tmp_path / name) as partial:
        assert len(partial.name.encode()) <= 255
        partial.write_text("text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_with_a_long_name_is_written(tmp_path):
    with files.atomic_folder(tmp_path / ("d" * 255)):
        pass
    assert (tmp_path / ("d" * 255)).is_dir()


NO_TEXT = r"\\udcff\S*: not UTF-8"
TOO_LONG = "a name of 241 bytes; expected at most 240"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("vocab b\udcff.en -o v", NO_TEXT),
        ("vocab a -o v\udcff", NO_TEXT),
        ("align a b\udcff.en -o x", NO_TEXT),
        ("report r\udcff", NO_TEXT),
        ("align {} a -o x", TOO_LONG),
        ("align a a -o {}", TOO_LONG),
        ("lexicon a a {}", TOO_LONG),
        ("derive {} -o x", TOO_LONG),
        ("vocab a -o {}", TOO_LONG),
    ],
)
def test_a_name_that_cannot_be_used_is_an_error_before_work_begins(
    tmp_path, monkeypatch, arguments, message
):
    """It is not UTF-8, or leaves no room for the suffixes of partial files."""
    monkeypatch.chdir(tmp_path)
    long = "x" * 241
    for name in ("a", "b\udcff.en", long):
        write_lines(tmp_path / name, ["the house is big"] * 9)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataError, match=message):
        CliRunner().invoke(
            application(), arguments.format(long).split(), catch_exceptions=False
        )
    assert sorted(tmp_path.iterdir()) == before
