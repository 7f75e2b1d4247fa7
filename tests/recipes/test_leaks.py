"""Test text of a recipe's tasks in its training text: small files, and the traps of the shared data."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from interlace.data.overlap import TestSet, leaks
from interlace.recipes import Recipe
from interlace.recipes.leaks import LEAKS, find_leaks, held_out, kept_leaks
from interlace.text import Text

REAL = os.environ.get("INTERLACE_DATA", "")
LONG = "the old doctor reads a long book in the small room"


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def recipe(folder, **tasks):
    return Recipe.read(
        {
            "name": "small",
            "data_root": str(folder),
            "corpora": {
                "text": {"languages": ["en"], "train": "train.{language}"},
                "pairs": {"pairs": ["en-de"], "train": ["pairs.{source}", "pairs.{target}"]},
            },
            "objectives": {"mlm": {}},
            "evaluate": {"source": "en", "targets": ["de"], "tasks": tasks},
        }
    )


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


def shares(found):
    return {(leak.name, leak.language): (leak.exact, leak.grams, leak.total) for leak in found}


def test_each_kind_of_task_is_read_as_text(folder):
    small = recipe(folder, xnli={}, retrieval={"files": "test.{language}"}, mlqa={}, pawsx={}, embedding_alignment={})
    assert shares(find_leaks(small, small)) == {
        ("xnli", "en"): (1, 2, 2),
        ("xnli", "de"): (0, 0, 1),
        ("retrieval", "de"): (1, 1, 1),
        ("mlqa", "en"): (0, 2, 2),
        ("pawsx", "en"): (1, 1, 1),
    }


def test_rows_of_a_file_are_held_out_and_no_others(folder):
    small = recipe(folder, xnli={"files": {"test": "nli/test.{language}.tsv[1:]"}, "targets": ["en"]})
    assert shares(find_leaks(small, small)) == {("xnli", "en"): (0, 1, 1)}


def test_places_are_lines_of_corpora(folder):
    small = recipe(folder, xnli={})
    (english, _) = find_leaks(small, small)
    assert [example.where for example in english.examples] == ["text en:2", "pairs en-de:2"]
    assert english.parts == {"first": (1, 1), "second": (0, 1)}


def test_whole_texts_are_warned_of(folder, caplog):
    small = recipe(folder, xnli={})
    kept_leaks(folder, small, small)
    kept_leaks(folder, small, small)
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [message.partition(":")[0] for message in told] == ["xnli (en)"] * 2  # also where the answer is kept
    assert "50 % of the test examples" in told[0]


def test_answers_are_kept_and_each_task_is_asked_once(folder, monkeypatch):
    import interlace.recipes.leaks as room

    small = recipe(folder, xnli={}, mlqa={})
    first = kept_leaks(folder, small, small, ["xnli"])
    asked = []
    monkeypatch.setattr(room, "find_leaks", lambda _trained, _asked, tasks: asked.append(list(tasks)) or [])
    assert kept_leaks(folder, small, small, ["xnli"]) == first
    kept_leaks(folder, small, small)
    assert asked == [["mlqa"]]
    assert json.loads((folder / LEAKS).read_text())["xnli"]["leaks"] == first
    assert {leak["language"]: leak["ngram"] for leak in first} == {"en": 100.0, "de": 0.0}
    kept_leaks(folder, recipe(folder, xnli={"targets": ["de"]}), recipe(folder, xnli={"targets": ["de"]}))
    assert asked[-1] == ["xnli"]


# ---- the traps of the shared data ----


def lines_of(path):
    with gzip.open(Path(REAL) / path, "rt", encoding="utf-8", newline="\n") as file:
        return [line for line in file.read().split("\n") if line]


@pytest.mark.skipif(not REAL, reason="needs INTERLACE_DATA")
def test_xnli_test_stands_in_the_multiway_test_set_and_not_in_its_dev_set():
    tasks = {"xnli": {"files": "nli/xnli/xnli.{split}.{language}.tsv.gz"}}
    asked = recipe(REAL, **tasks)
    tests = [held for held in held_out(asked) if held.language == "de"]
    rows = {split: lines_of(f"parallel/xnli-multiway/xnli.11way.{split}.tsv.gz") for split in ("dev", "test")}
    found = {}
    for split, (head, *body) in rows.items():
        column = head.split("\t").index("de")
        text = Text.of([row.split("\t")[column] for row in body], "de")
        (leak,) = leaks([(text, str)], tests)
        found[split] = leak.dump()
    assert found["test"]["examples"] == 5010
    assert found["test"]["exact"] > 99.9
    assert found["dev"]["exact"] < 0.5


@pytest.mark.skipif(not REAL, reason="needs INTERLACE_DATA")
def test_mlqa_passages_stand_in_the_wikipedia_paragraphs_and_its_questions_do_not():
    files = {"test": "qa/mlqa/dev/dev-context-{context}-question-{question}.json.gz"}
    asked = recipe(REAL, mlqa={"files": files, "targets": ["de", "zh"]})
    tests = [held for held in held_out(asked) if held.language in {"de", "zh"}]
    assert [type(held) for held in tests] == [TestSet, TestSet]
    for held in tests:
        text = Text.of(lines_of(f"mono/wikipedia-paragraphs/{held.language}.txt.gz"), held.language)
        (leak,) = leaks([(text, str)], [held])
        shares = leak.dump()["parts"]
        assert shares["first"]["exact"] > 99
        assert shares["second"]["exact"] < 1
