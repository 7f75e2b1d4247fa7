"""Test text of a recipe's tasks in its training text: small files, and the traps of the shared data."""

import json
import tomllib

import pytest

from interlace.data.contamination import find_contamination
from interlace.experiments.contamination import (
    held_out_sets,
    stored_contamination,
    training_text,
)
from interlace.experiments.recipe import Recipe

RECIPE = """
name = "r"
evaluate = { source = "en", targets = ["de"] }
[corpora.text]
languages = ["en"]
train = "train.{language}"
[corpora.pairs]
pairs = ["en-de"]
train = ["pairs.{source}", "pairs.{target}"]
[objectives.mlm]
"""
LONG = "the old doctor reads a long book in the small room"


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def recipe(folder, **tasks):
    asked = {**tomllib.loads(RECIPE), "data_root": str(folder)}
    asked["evaluate"]["tasks"] = tasks
    return Recipe.read(asked)


@pytest.fixture
def folder(tmp_path):
    qa = {"data": [{"paragraphs": [{"context": f"Yes, {LONG}.", "qas": [
        {"id": "1", "question": "Who reads?", "answers": [{"text": "the old doctor", "answer_start": 5}]},
        {"id": "2", "question": "What does he read there?", "answers": [{"text": "a long book", "answer_start": 26}]},
    ]}]}]}  # fmt: skip
    write(
        tmp_path,
        {
            "train.en": f"nothing\n{LONG}\n",
            "pairs.en": "he works in Berlin\nshe sleeps well\n",
            "pairs.de": "er arbeitet in Berlin\nsie schläft gut\n",
            "nli/test.en.tsv": f"premise\thypothesis\tlabel\nShe sleeps well.\tno such line is there\tneutral\n"
            f"none of it is\tHey {LONG}\tneutral\n",
            "nli/test.de.tsv": "premise\thypothesis\tlabel\nganz anderer Satz hier\tnoch ein ganz anderer\tneutral\n",
            "qa/test.en.json": json.dumps(qa),
            "test.en": "a line of its own\n",
            "test.de": "Er arbeitet in Berlin.\n",
            "pawsx/test-en.tsv": "he works in Berlin\tsome other words here\t1\n",
        },
    )
    return tmp_path


def search(small):
    """Contamination of the test sets by task and language."""
    results = {}
    for result in find_contamination(training_text(small), held_out_sets(small)):
        if result.held_out.split == "test":
            results[result.held_out.name, result.held_out.language] = result
    return results


def counts(small):
    """Numbers of examples with a text that occurs as a whole, with any n-gram, and all."""
    numbers = {}
    for key, result in search(small).items():
        exact = result.exact.count
        numbers[key] = (exact, exact + result.ngram.count, len(result.held_out))
    return numbers


def test_searches_text_of_every_kind_of_task(folder):
    small = recipe(
        folder,
        xnli={},
        retrieval={"files": "test.{language}"},
        mlqa={},
        pawsx={},
        embedding_alignment={},
    )
    assert counts(small) == {
        ("xnli", "en"): (1, 2, 2),
        ("xnli", "de"): (0, 0, 1),
        ("retrieval", "de"): (1, 1, 1),
        ("mlqa", "en"): (0, 2, 2),
        ("pawsx", "en"): (1, 1, 1),
    }
    english = search(recipe(folder, xnli={}))["xnli", "en"]
    excerpts = [*english.exact.excerpts, *english.ngram.excerpts]
    assert [excerpt.where for excerpt in excerpts] == ["pairs en-de:2", "text en:2"]


def test_warns_about_test_and_development_sets_each_time(folder, caplog):
    write(
        folder,
        {
            "nli/dev.en.tsv": f"premise\thypothesis\tlabel\n{LONG}\tno such line is there\tneutral\n"
        },
    )
    small = recipe(folder, xnli={"targets": ["en"]})
    for _ in range(2):  # also where the answer is kept
        found = stored_contamination(folder, small, small)
    assert [(leak["split"], leak["exact"]) for leak in found] == [("test", 50.0)]
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [sum(f"{share} % of the {split} examples" in message for message in told)
            for share, split in ((50, "test"), (100, "dev"))] == [2, 2]  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """The held-out sets that training text is read for, call by call."""
    import interlace.experiments.contamination as room

    calls = []

    def find(texts, sets):
        calls.append(list(map(str, sets)))
        return find_contamination(texts, sets)

    monkeypatch.setattr(room, "find_contamination", find)
    return calls


def test_results_are_cached_per_test_set_and_its_text(folder, asked):
    small = recipe(folder, xnli={}, mlqa={"targets": ["en"]})
    first = stored_contamination(folder, small, small, ["xnli"])
    assert {leak["language"]: leak["ngram"] for leak in first} == {"en": 100.0, "de": 0.0}
    assert stored_contamination(folder, small, small, ["xnli"]) == first
    stored_contamination(folder, small, small)
    assert asked == [["xnli.test.en", "xnli.test.de"], ["mlqa.test.en"]]
    write(folder, {"nli/test.de.tsv": f"premise\thypothesis\tlabel\n{LONG}\tja\tneutral\n"})
    stored_contamination(folder, small, small)
    assert asked[2:] == [["xnli.test.de"]]


def test_unreadable_test_sets_are_reported_and_retried(folder, asked, caplog):
    small = recipe(folder, xnli={"targets": ["fr"]})
    assert [leak["language"] for leak in stored_contamination(folder, small, small)] == ["en"]
    assert "xnli: no test data in 'fr'" in caplog.text
    write(
        folder,
        {
            "nli/test.fr.tsv": "premise\thypothesis\tlabel\nune autre phrase ici\tencore une autre\tneutral\n"
        },
    )
    assert [leak["language"] for leak in stored_contamination(folder, small, small)] == [
        "en",
        "fr",
    ]
    assert asked[1] == ["xnli.test.fr"]


def begun(folder, name, start, **more):
    """A recipe that reads a file of its own, and its finished run."""
    changes = {
        "name": name,
        "corpora": {"own": {"languages": ["en"], "train": f"{name}.{{language}}"}},
        "model": {"start": str(start), **more} if start else {},
    }
    made = Recipe.read({**recipe(folder, xnli={"targets": ["en"]}).dump(), **changes})
    write(
        folder, {f"{name}.en": "nothing\n", f"runs/{name}/recipe.json": json.dumps(made.dump())}
    )
    (folder / "runs" / name / "model").mkdir(exist_ok=True)
    return made


def test_searches_training_text_of_parent_runs(folder, asked):
    """A model that was trained on the test text by its parent knows it."""
    begun(folder, "first", None)
    begun(folder, "second", folder / "runs/first/model")
    third = begun(folder, "third", folder / "runs/second/model")
    write(folder, {"first.en": f"{LONG}\n"})
    (leak,) = stored_contamination(folder, third, third)
    assert (leak["ngram"], leak["shown"][0]["where"]) == (50, "first: own en:1")
    assert "unknown" not in leak
    (alone,) = stored_contamination(folder, begun(folder, "third", None), third)
    assert (alone["ngram"], len(asked)) == (0, 2)


def test_reports_parents_with_unknown_training_text(folder):
    """Nothing found in what could be looked at is not nothing found."""
    begun(folder, "first", "xlm-roberta-base")
    second = begun(folder, "second", folder / "runs/first/model")
    assert [leak["unknown"] for leak in stored_contamination(folder, second, second)] == [
        ["xlm-roberta-base"]
    ]
    (folder / "runs/first/recipe.json").write_text("damaged")
    (leak,) = stored_contamination(folder, second, second)
    assert leak["unknown"] == [str(folder / "runs/first/model")]
    drawn = begun(folder, "drawn", "xlm-roberta-base", take="none")
    assert "unknown" not in stored_contamination(folder, drawn, drawn)[0]
