"""`interlace check`: what it says of files and recipes, and its exit code."""

import json
from functools import partial

import pytest

from command_line import command
from interlace.text.lines import write_lines

check = partial(command, "check")

RECIPE = """
name = "small"
word_tokenizer = "whitespace"
[corpora.text]
languages = ["en"]
train = "train.{language}"
dev = "dev.{language}"
[corpora.pairs]
pairs = ["en-de"]
train = ["train.{source}", "train.{target}"]
[objectives.mlm]
max_length = 8
[train]
steps = 10
tokens_per_update = 200
tokens_per_micro_batch = 100
[evaluate]
source = "en"
targets = ["de"]
[evaluate.tasks.retrieval]
files = "test.{language}"
"""


def checked(*arguments):
    done = check(*arguments, "--json")
    return done.exit_code, json.loads(done.stdout)


@pytest.fixture
def recipe(tmp_path):
    for name, lines in {
        "train.en": ["the old doctor reads", "he works in Berlin", "she works in Paris"],
        "train.de": ["der alte Arzt liest", "er arbeitet in Berlin", "sie arbeitet in Paris"],
        "dev.en": ["the old doctor reads", "this is a new line"],
        "test.en": ["something else it is"],
        "test.de": ["er arbeitet in Berlin"],
    }.items():
        write_lines(tmp_path / name, lines)
    path = tmp_path / "small.toml"
    path.write_text(f'data_root = "{tmp_path}"\n{RECIPE}')
    return path


def test_files_are_sides_and_named_by_language(tmp_path):
    write_lines(tmp_path / "a.en.gz", ["the cat", "the cat"])
    write_lines(tmp_path / "a.de.gz", ["die Katze", "die Katze"])
    code, found = checked(tmp_path / "a.en.gz", tmp_path / "a.de.gz")
    (report,) = found["reports"]
    assert (code, found["failed"], list(report["facts"]["sides"])) == (0, False, ["en", "de"])
    assert report["findings"][0]["what"] == "duplicates"


def test_pairs_with_identical_sides_are_a_warning(tmp_path):
    write_lines(tmp_path / "a.en", ["the cat sleeps", "Two dogs", "Berlin 1984", "it rains"])
    write_lines(
        tmp_path / "a.de", ["die Katze schläft", "two dogs", "Berlin 1984", "es regnet"]
    )
    _, found = checked(tmp_path / "a.en", tmp_path / "a.de")
    (finding,) = found["reports"][0]["findings"]
    assert (finding["level"], finding["what"]) == ("warning", "identical")
    assert (finding["count"], finding["total"]) == (2, 4)
    assert finding["examples"][0]["where"] == "line 2"


def test_errors_exit_with_code_2_and_warnings_with_0(tmp_path):
    (tmp_path / "a.en").write_bytes(b"caf\xe9\n")
    done = check(tmp_path / "a.en")
    assert done.exit_code == 2
    assert done.stdout.startswith("\na.en\n")  # a single blank line
    assert "line 1: not valid UTF-8" in done.stdout.replace("\n", " ")
    assert "errors: 1" in done.stdout
    write_lines(tmp_path / "a.en", ["one [red]two[/]", "one [red]two[/]", "x"])
    done = check(tmp_path / "a.en")
    assert done.exit_code == 0
    assert "1 of 3 (33.3 %)" in done.stdout
    assert "a.en:2  one [red]two[/]" in done.stdout
    assert "warnings: 1" in done.stdout


def test_recipe_with_contamination_and_cost(recipe):
    code, found = checked(recipe)
    assert code == 0
    reports = {report["name"]: report for report in found["reports"]}
    held_out = "held-out text in training text"
    assert list(reports) == [
        "text en (dev)",
        "text en (train)",
        "pairs en-de (train)",
        held_out,
    ]
    leaks = reports[held_out]["findings"]
    assert [
        (leak["count"], leak["total"], leak["about"].split(" that")[0]) for leak in leaks
    ] == [
        (1, 1, "examples of retrieval (dev, de)"),  # the same file as of (test)
        (1, 1, "examples of retrieval (test, de)"),
        (1, 2, "examples of text en (dev, en)"),
    ]


def test_text_that_splits_of_a_task_share_is_a_warning(recipe):
    rows = ["gold_label\tsentence1\tsentence2"]
    rows += [
        f"neutral\tthis is the premise {row}\tand this is hypothesis {row}" for row in range(3)
    ]
    for split, numbers in {"train": [1, 2], "dev": [3], "test": [2, 3]}.items():
        table = [rows[0], *(rows[number] for number in numbers)]
        write_lines(recipe.parent / f"{split}.tsv", table)
    task = '[evaluate.tasks.xnli]\nfiles = "{split}.tsv"\n'
    recipe.write_text(recipe.read_text() + task)
    code, found = checked(recipe, "--set", "evaluate.targets=['en']")
    assert code == 0
    shared = found["reports"][-1]["findings"][-1]
    assert (shared["level"], shared["count"], shared["total"]) == ("warning", 1, 2)
    assert shared["about"].startswith("examples of xnli (test, en)")


def test_a_recipe_without_a_file_fails_and_names_the_nearest(recipe):
    (recipe.parent / "train.de").unlink()
    done = check(recipe)
    assert done.exit_code == 2
    assert "no such file; did you mean" in done.stdout
    assert "text en (train)" in done.stdout  # the others are looked at all the same


def test_questions_are_no_recipe(tmp_path):
    question = {"id": "1", "question": "Who sees two dogs?", "answers": []}
    paragraph = {"context": "The cat sees two dogs.", "qas": [question]}
    content = json.dumps({"data": [{"paragraphs": [paragraph]}]})
    (tmp_path / "a.en.json").write_text(content)
    code, found = checked(tmp_path / "a.en.json", "--reader", "squad")
    assert (code, found["reports"][0]["facts"]["rows"]) == (0, 1)
