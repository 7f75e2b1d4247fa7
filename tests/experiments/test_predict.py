"""`interlace evaluate --save-models` and `interlace predict`: predictions on a test file are those that were scored."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import DataError, SettingsError
from interlace.data.vocab import Vocab
from interlace.experiments.data_root import data_root
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.tasks import TASKS, FineTuneTask
from interlace.tasks.mlqa import compare_all
from paraphrase_files import add_paraphrases
from toy_settings import TINY_RUN

NAMES = [name for name in TASKS.names() if issubclass(TASKS.get(name), FineTuneTask)]
TUNING = {"epochs": 8, "learning_rate": 1e-2, "tokens_per_batch": 256}


def invoke(*arguments, text=None):
    return CliRunner().invoke(
        application(), [*map(str, arguments)], input=text, catch_exceptions=False
    )


def options(name):
    changes = {"targets": ["de", "hi"], **{f"tuning.{key}": value for key, value in TUNING.items()}}
    return [
        part
        for key, value in changes.items()
        for part in ("--set", f"evaluate.tasks.{name}.{key}={json.dumps(value)}")
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with fine-tuned models of every task."""
    folder = tmp_path_factory.mktemp("predict") / "run"
    recipe = read_recipe("tiny/mlm-tlm", TINY_RUN)
    pretrain(recipe, folder)
    add_paraphrases(data_root(recipe))
    settings = [part for name in NAMES for part in options(name)]
    done = invoke(
        "evaluate",
        folder,
        "--tasks",
        ",".join(NAMES),
        "--seeds",
        "1",
        "--save-models",
        "--json",
        *settings,
    )
    assert done.exit_code == 0, done.output
    return folder


def rows_of(run):
    return json.loads((run / "scores.json").read_text())


def as_input(name, world, language):
    """The text of a test file as `predict` reads it, and the file's gold labels or tags."""
    if name in {"pos", "ner"}:
        path = world / ("pos/test.{}.conllu" if name == "pos" else "ner/test.{}.tsv").format(
            language
        )
        blocks = [block.splitlines() for block in path.read_text().split("\n\n") if block.strip()]
        cells = [
            [line.split("\t") for line in block if not line.startswith("#")] for block in blocks
        ]
        if name == "pos":
            lines = [
                line.removeprefix("# text = ")
                for block in blocks
                for line in block
                if line.startswith("# text")
            ]
            return lines, [[(row[1], row[3]) for row in block] for block in cells]
        return [" ".join(row[0] for row in block) for block in cells], [
            [tuple(row) for row in block] for block in cells
        ]
    path = (
        world / f"nli/test.{language}.tsv"
        if name == "xnli"
        else world / f"pawsx/test-{language}.tsv"
    )
    table = [line.split("\t") for line in path.read_text().splitlines()]
    if name == "pawsx":
        return ["\t".join(row[:2]) for row in table], [row[2] for row in table]
    head = table[0]
    columns = [head.index(column) for column in ("sentence1", "sentence2", "gold_label")]
    rows = [[row[column] for column in columns] for row in table[1:]]
    return ["\t".join(row[:2]) for row in rows], [row[2] for row in rows]


def sentences_of(output):
    """Blocks of `word<TAB>tag` lines, each with an empty line behind."""
    assert output.endswith("\n\n")
    return [
        [line.split("\t") for line in block.splitlines()] for block in output[:-2].split("\n\n")
    ]


@pytest.mark.parametrize("language", ["en", "hi"])
@pytest.mark.parametrize("name", NAMES)
def test_predictions_on_the_test_file_have_the_stored_score(name, language, run, tmp_path):
    world = data_root(read_recipe("tiny/mlm-tlm", TINY_RUN))
    (row,) = [row for row in rows_of(run) if (row["task"], row["language"]) == (name, language)]
    asked = ["predict", run, "--task", name, "--language", language, "--window", "5"]
    if name == "mlqa":
        path = world / f"qa/test.{language}.json"
        done = invoke(*asked, "--input", path)
        nodes = [
            q
            for a in json.loads(path.read_text())["data"]
            for p in a["paragraphs"]
            for q in p["qas"]
        ]
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        assert [key for key, _ in lines] == [node["id"] for node in nodes]
        gold = [[answer["text"] for answer in node["answers"]] for node in nodes]
        scores = compare_all([answer for _, answer in lines], gold, "mlqa", language)
        assert 100 * scores.f1.mean() == pytest.approx(row["score"], abs=1e-3)
        assert row["score"] > 0
        return
    lines, gold = as_input(name, world, language)
    if name in {"pos", "ner"}:
        words = (
            ["--word-tokenizer", "whitespace"] if name == "ner" else []
        )  # the treebank has untokenized text
        done = invoke(*asked, *words, text="".join(f"{line}\n" for line in lines))
        found = sentences_of(done.stdout)
        assert [[word for word, _ in block] for block in found] == [
            [word for word, _ in block] for block in gold
        ]
        if name == "pos":
            pairs = zip(
                (tag for block in found for _, tag in block),
                (tag for block in gold for _, tag in block),
                strict=True,
            )
            hits = [tag == right for tag, right in pairs]
            assert 100 * sum(hits) / len(hits) == pytest.approx(row["score"], abs=1e-3)
        else:
            rows = [f"{word}\t{tag}" for block in found for word, tag in [*block, ("", "")]]
            (tmp_path / "found.tsv").write_text("\n".join(row.strip("\t") for row in rows) + "\n")
            task = TASKS.build({"name": "ner", "files": {"test": "found.tsv"}})
            vocab = Vocab.load(run / "model")
            predictions = task.examples("test", language, vocab, tmp_path).tags
            examples = TASKS.build("ner").examples("test", language, vocab, world)
            assert task.score(examples, predictions)["f1"] == pytest.approx(row["score"], abs=1e-3)
        assert row["score"] > 10
        return
    done = invoke(*asked, text="".join(f"{line}\n" for line in lines))
    head, *table = [line.split("\t") for line in done.stdout.splitlines()]
    assert head == ["label", *TASKS.build(name).classes]
    assert len(table) == len(lines)
    assert all(sum(map(float, shares)) == pytest.approx(1, abs=1e-3) for _, *shares in table)
    assert all(max(shares, key=float) == shares[head.index(label) - 1] for label, *shares in table)
    accuracy = (
        100
        * sum(label == right for (label, *_), right in zip(table, gold, strict=True))
        / len(gold)
    )
    assert accuracy == pytest.approx(row["score"], abs=1e-3)


def test_a_saved_model_is_kept_and_scored_once(run, caplog):
    """A score with its model is not computed again; one whose model is gone is."""
    before = (run / "fine-tuned/pos.zero-shot.0/model.safetensors").stat().st_mtime_ns
    asked = [
        "evaluate",
        run,
        "--tasks",
        "pos",
        "--seeds",
        "1",
        "--save-models",
        "--json",
        *options("pos"),
    ]
    assert invoke(*asked).exit_code == 0
    assert (run / "fine-tuned/pos.zero-shot.0/model.safetensors").stat().st_mtime_ns == before
    shutil.rmtree(run / "fine-tuned/pos.zero-shot.0")
    with pytest.raises(
        SettingsError, match=r"no fine-tuned model of 'pos' is saved; saved tasks: .*ner"
    ):
        invoke("predict", run, "--task", "pos", text="a\n")
    stored = [row["score"] for row in rows_of(run) if row["task"] == "pos"]
    assert invoke(*asked).exit_code == 0
    assert (run / "fine-tuned/pos.zero-shot.0/model.safetensors").is_file()
    assert [row["score"] for row in rows_of(run) if row["task"] == "pos"] == stored


def test_words_of_raw_text_are_found_by_language_and_nothing_is_lost(run):
    done = invoke(
        "predict", run, "--task", "ner", text="He sees Anna.\n\n" + "letter " * 300 + "\n"
    )
    raw = done.stdout.partition("\n\n")[0]
    assert [line.split("\t")[0] for line in raw.splitlines()] == ["He", "sees", "Anna", "."]
    lines = done.stdout.splitlines()
    assert lines.count("") == 3
    assert sum(line.startswith("letter\t") for line in lines) == 300
    assert [line for line in lines if line.startswith("letter")][-1] == "letter\tO"


def test_lines_of_words_with_their_tags_are_reported(run, caplog):
    assert invoke("predict", run, "--task", "ner", text="He\tO\nsees\tO\n").exit_code == 0
    assert "a line is a sentence, not a word and its tag: 2" in caplog.text


def test_questions_with_passages_are_answered_line_by_line(run):
    done = invoke(
        "predict", run, "--task", "mlqa", text="who reads ?\tthe doctor reads a letter\nwho ?\t\n"
    )
    first, second = done.stdout.splitlines()
    assert first in "the doctor reads a letter"
    assert second == ""


def test_an_id_cannot_break_the_table_of_answers(run, tmp_path):
    question = {
        "question": "who reads ?",
        "id": "a\tb\nc",
    }  # a file without answers, as one has of new questions
    paragraph = {"context": "the doctor reads a letter", "qas": [question]}
    (tmp_path / "new.json").write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    done = invoke("predict", run, "--task", "mlqa", "--input", tmp_path / "new.json")
    (line,) = done.stdout.splitlines()
    key, answer = line.split("\t")
    assert key == "a b c"
    assert answer in paragraph["context"]


def test_a_copied_model_is_opened_by_itself(run, tmp_path):
    shutil.copytree(run / "fine-tuned/xnli.zero-shot.0", tmp_path / "mine")
    done = invoke("predict", tmp_path / "mine", "-o", tmp_path / "out", text="a\tb\n")
    assert done.exit_code == 0
    assert (tmp_path / "out").read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (
            ["--task", "nre"],
            "a\n",
            r"no fine-tuned model of 'nre' is saved; saved tasks: .*; did you mean 'ner'",
        ),
        ([], "a\n", r"--task is missing; saved tasks: "),
        (
            ["--task", "xnli"],
            "a\tb\na\n",
            r"line 2 of the input: 1 column, expected first sentence, tab, second sentence",
        ),
        (
            ["--task", "mlqa"],
            "a\tb\tc\n",
            r"line 1 of the input: 3 columns, expected question, tab, passage",
        ),
        (
            ["--task", "ner", "--seed", "4"],
            "a\n",
            r"no saved model of 'ner' has .*--seed; saved: ner\.zero-shot\.0",
        ),
        (
            ["--task", "xnli", "--word-tokenizer", "whitespace"],
            "a\tb\n",
            "'xnli' does not tag words",
        ),
        (["--task", "ner", "--word-tokenizer", "whitspace"], "a\n", "did you mean 'whitespace'"),
    ],
)
def test_bad_input_is_named(arguments, text, message, run):
    with pytest.raises((DataError, SettingsError), match=message):
        invoke("predict", run, *arguments, text=text)


def test_models_of_previous_weights_are_not_applied(run, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    config = json.loads((copy / "model/config.json").read_text())
    (copy / "model/config.json").write_text(json.dumps({**config, "comment": "other weights"}))
    with pytest.raises(
        DataError, match=r"no fine-tuned model is saved; run `interlace evaluate .*--save-models`"
    ):
        invoke("predict", copy, "--task", "ner", text="a\n")


def test_models_are_saved_for_each_language_that_selects_its_own(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(
        run, folder, ignore=shutil.ignore_patterns("fine-tuned", "scores.json", "predictions")
    )
    chosen = [*options("ner"), "--set", "evaluate.tasks.ner.tuning.select=per-language-dev"]
    assert (
        invoke(
            "evaluate", folder, "--tasks", "ner", "--seeds", "1", "--save-models", "--json", *chosen
        ).exit_code
        == 0
    )
    names = {row["language"]: row["fine_tuned"] for row in rows_of(folder)}
    assert names == {
        language: f"fine-tuned/ner.zero-shot.{language}.0" for language in ("en", "de", "hi")
    }
    assert invoke("predict", folder, "--language", "hi", text="a\n").exit_code == 0
