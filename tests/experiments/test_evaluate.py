"""Which scores are kept and which are made anew; the scoring itself is replaced by a counter."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from interlace.core.errors import DataError, RunError, SettingsError
from interlace.experiments import evaluate, score_store
from interlace.experiments.evaluate import Target, _task
from interlace.experiments.evaluate import evaluate as run
from interlace.experiments.model_folder import ModelMetadata
from interlace.experiments.recipe import Recipe, change_recipe, read_recipe
from interlace.experiments.studies.folder import requested_items
from interlace.tasks.common.translation import Direction


@pytest.fixture
def target(tmp_path, own_cache):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"one")
    return Target(str(tmp_path / "model"), read_recipe("tiny/mlm"), tmp_path / "run")


def changed(target, changes):
    return replace(target, recipe=change_recipe(target.recipe, changes))


def scored_by(monkeypatch, scored):
    """Have this in the place of scoring, whatever files there are."""
    monkeypatch.setattr(evaluate, "score_within_memory", scored)
    monkeypatch.setattr(evaluate, "files_read", lambda *_: [])
    monkeypatch.setattr(evaluate.Vocab, "load", lambda _: None)
    monkeypatch.setattr(evaluate, "data_root", lambda _: Path("nowhere"))


def rows_of(cell, fit, score=1):
    row = {"task": cell.name, "seed": cell.seed, "metric": "f1", "score": score}
    return [
        {**row, "setting": setting, "language": language} for setting, language in fit.items
    ]


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The cells that were scored, in order; each one's score is its number."""
    cells = []

    def scored(cell, fit):
        cells.append((cell.name, cell.seed))
        return rows_of(cell, fit, len(cells))

    scored_by(monkeypatch, scored)
    monkeypatch.setattr(evaluate, "data_root", lambda _: tmp_path)
    return cells


@pytest.fixture
def mine(target, tmp_path):
    """The same target with tagged files of its own: English to learn from, English and German to score."""
    for name in ("train.en", "dev.en", "test.en", "test.de"):
        (tmp_path / f"{name}.conllu").write_text(name)
    more = {
        "evaluate.tasks.pos.files": "{split}.{language}.conllu",
        "evaluate.tasks.pos.targets": '["de"]',
    }
    return changed(target, more)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (None, r"recipe\.json: missing, although the run is finished"),
        ("{", "restore it from a copy"),
    ],
)
def test_a_run_without_a_readable_recipe_says_what_to_do(tmp_path, recipe, message):
    (tmp_path / "run.json").write_text('{"finished": "now"}')
    if recipe is not None:
        (tmp_path / "recipe.json").write_text(recipe)
    with pytest.raises(RunError, match=message):
        evaluate.target_of(str(tmp_path))


@pytest.mark.parametrize("name", ["dev.en", "test.de"])
@pytest.mark.parametrize("more", [{}, {"decontaminate": "true", "tuning.select": "last"}])
def test_changed_files_are_scored_again(mine, made, tmp_path, name, more):
    changes = {f"evaluate.tasks.pos.{key}": value for key, value in more.items()}
    asked = changed(mine, changes)
    for _ in range(2):
        run(asked, ["pos"], seeds=1)
    assert len(made) == 1
    (tmp_path / f"{name}.conllu").write_text("mended\n")
    run(asked, ["pos"], seeds=1)
    assert len(made) == 2


def test_scores_are_kept_without_their_files(mine, made, tmp_path):
    """Data that is not here is no reason to score again."""
    run(mine, ["pos"], seeds=1)
    (tmp_path / "test.de.conllu").unlink()
    run(mine, ["pos"], seeds=1)
    assert len(made) == 1


def test_stored_scores_are_recomputed_for_another_model_only(target, made, tmp_path):
    first = run(target, ["pos", "retrieval"], seeds=2)
    # a probe has one seed, and a turn a language
    assert made == [
        ("pos", 0),
        ("pos", 1),
        *[("retrieval", 0)] * 3,
    ]
    assert run(target, ["pos", "retrieval"], seeds=2) == first
    assert run(target, ["pos"], seeds=3)[:8] == first[:8]  # four languages a seed
    assert {row["seed"] for row in run(target, ["pos"], seeds=1)} == {0}
    assert made[5:] == [("pos", 2)]
    (tmp_path / "model" / "model.safetensors").write_bytes(b"another")
    assert {row["score"] for row in run(target, ["pos"], seeds=1)} == {len(made)}
    assert made[6:] == [("pos", 0)]


def test_the_recipe_that_a_run_was_scored_by_is_stored(target, made, monkeypatch):
    monkeypatch.setattr(evaluate, "_contamination", lambda *_: {})
    other = change_recipe(target.recipe, {"evaluate.tasks.pos.tuning.learning_rate": "0.25"})
    run(replace(target, recipe=other, trained=target.recipe), ["pos"], seeds=1)
    assert json.loads((target.into / "evaluate.json").read_text()) == other.dump()


def test_batches_that_processes_cannot_share_are_rejected_before_anything_is_scored(
    target, made, monkeypatch
):
    monkeypatch.setattr(
        evaluate,
        "accelerator_for",
        lambda *_: SimpleNamespace(num_processes=2, is_main_process=True),
    )
    with pytest.raises(
        SettingsError,
        match=r"tuning\.micro_batches = 1: a batch cannot be shared by 2 processes",
    ):
        run(target, ["retrieval", "pos"], seeds=1)
    assert not made


def test_rejects_and_keeps_a_damaged_score_file(target, made):
    target.into.mkdir()
    path = target.into / "scores.json"
    path.write_text('[{"task": "pos"}]')
    with pytest.raises(RunError, match=r"scores\.json: damaged: .*; move the file away"):
        run(target, ["retrieval"])
    assert not made
    assert path.read_text() == '[{"task": "pos"}]'


def test_a_failed_evaluation_keeps_earlier_scores(target, made, monkeypatch):
    run(target, ["pos", "xnli"], seeds=1)
    more = {"evaluate.tasks.pos.tuning.epochs": "1", "evaluate.tasks.xnli.tuning.epochs": "1"}
    succeeds = evaluate.score_within_memory

    def scored(cell, fit):
        if cell.name == "pos":
            raise DataError("pos: no such file")
        return succeeds(cell, fit)

    scored_by(monkeypatch, scored)
    with pytest.raises(evaluate.IncompleteError):
        run(changed(target, more), ["pos", "xnli"], seeds=1)
    kept = {
        (row["task"], row["score"])
        for row in json.loads((target.into / "scores.json").read_text())
    }
    assert kept == {("pos", 1), ("xnli", 3)}


def test_added_setting_keeps_existing_scores(target, made):
    run(target, ["xnli"], seeds=1)
    more = {"evaluate.tasks.xnli.settings": '["zero-shot", "translate-train"]'}
    rows = run(changed(target, more), ["xnli"], seeds=1)
    assert len(made) == 1 + 3  # a model a language, beside the one there is
    assert [row["score"] for row in rows if row["setting"] == "zero-shot"] == [1, 1, 1, 1]


def test_looks_up_the_files_of_all_tasks_before_one_is_scored(target, made, monkeypatch):
    looked_up = {}

    def read(task, *_):
        looked_up.setdefault(task.name, len(made))
        if task.name == "xnli":
            raise DataError("xnli: no file")
        return []

    monkeypatch.setattr(evaluate, "files_read", read)
    with pytest.raises(evaluate.IncompleteError, match="xnli: no file; everything else"):
        run(target, ["pos", "xnli", "retrieval"], seeds=1)
    assert looked_up == {"pos": 0, "xnli": 0, "retrieval": 0}
    assert {name for name, _ in made} == {"pos", "retrieval"}


def test_rejects_a_task_without_languages(target, made):
    nowhere = changed(target, {"evaluate.tasks.retrieval.targets": "[]"})
    with pytest.raises(DataError, match=r"retrieval: no language to score; .*--languages"):
        run(nowhere, ["retrieval"])
    assert not made


def test_evaluates_a_checkpoint_without_recipe(tmp_path):
    assert evaluate.target_of("me/mbert").into == Path("evaluations", "me--mbert")
    (tmp_path / "a" / "mbert").mkdir(parents=True)
    assert evaluate.target_of(str(tmp_path / "a/mbert")).into == Path("evaluations", "a--mbert")
    with pytest.raises(DataError, match="no such"):
        run(evaluate.target_of(str(tmp_path / "rnu")), ["retrieval"])
    target = evaluate.target_of(str(tmp_path / "mbert"), into=tmp_path / "scores")
    assert (target.recipe.name, target.trained) == ("mbert", None)


def test_failing_tasks_do_not_stop_the_others(target, monkeypatch):
    def scored(cell, fit):
        if cell.name == "pos" or fit.items[0][1] == "es":
            raise DataError(f"{cell.name}: nothing in {fit.items[-1][1]!r}")
        return rows_of(cell, fit)

    scored_by(monkeypatch, scored)
    message = "pos: nothing in 'hi'; retrieval: nothing in 'es'; every"
    with pytest.raises(evaluate.IncompleteError, match=message) as caught:
        run(target, ["pos", "retrieval"], seeds=1)
    assert [row["language"] for row in caught.value.rows] == ["de", "hi"]
    assert len(json.loads((target.into / "scores.json").read_text())) == 2


def test_scores_record_contamination_and_unknown_training_text(target, made, monkeypatch):
    told = {"exact": 0.0, "ngram": 1.5, "unknown": ["mbert"]}
    leak = {"task": "retrieval", "language": "de", "shown": [], **told}
    monkeypatch.setattr(evaluate, "stored_contamination", lambda *_: [leak])
    rows = run(replace(target, trained=target.recipe), ["retrieval"])
    found = {row["language"]: row.get("contamination") for row in rows}
    assert found["de"] == told
    assert found["es"] is None


def test_probe_loads_the_model_once_for_all_languages(target, monkeypatch):
    loads, looks = [], []

    def scored(cell, fit):
        _ = cell.measure
        return rows_of(cell, fit)

    real = score_store.find_checkpoint
    scored_by(monkeypatch, scored)
    monkeypatch.setattr(
        evaluate, "load", lambda model, _vocab: loads.append(model) or MagicMock()
    )
    monkeypatch.setattr(
        score_store, "find_checkpoint", lambda model: looks.append(model) or real(model)
    )
    assert len(run(target, ["retrieval"])) == 3
    assert len(loads) == 1
    assert len(looks) == 1  # of a model of the hub, each look may ask the network


def translating(**more):
    data = {"name": "r", "corpora": {"pairs": {"pairs": ["en-de"], "train": ["a.{language}"]}}}
    return Recipe.read({**data, "objectives": {"translation": {}}, **more})


def target_of(recipe):
    return Target("r/model", recipe, Path("r"), recipe)


def test_max_source_length_follows_training_in_each_direction(tmp_path):
    objectives = {
        "translation": {"directions": "forward", "max_length": 16},
        "back_translation": {"corpora": ["en-de:en"], "max_length": 32},
        "denoise": {"max_length": 60},
    }
    trained = translating(objectives=objectives, evaluate={"tasks": {"mt": {}}})
    alone = replace(target_of(trained), trained=None, model=str(tmp_path))
    ModelMetadata.of(trained).write(tmp_path)
    for task in (_task(target_of(trained), "mt"), _task(alone, "mt")):
        assert task.max_source_tokens(Direction("en", "de")) == 14
        assert task.max_source_tokens(Direction("de", "en")) == 30


def test_scores_all_learned_directions_by_default_and_warns_about_others(caplog, tmp_path):
    recipe = translating(evaluate={"tasks": {"mt": {}, "pos": {}}})
    both = ["en-de", "de-en"]
    assert _task(target_of(recipe), "mt").targets == both
    # a study looks for the same
    assert requested_items(recipe, "mt") == {("zero-shot", each) for each in both}
    evaluated = {"targets": ["en-de", "de-en"], "tasks": {"mt": {}}}
    trained = translating(
        objectives={"translation": {"directions": "forward"}}, evaluate=evaluated
    )
    _task(target_of(trained), "mt")
    assert (
        "mt: the model was not trained to translate de-en; learned directions: en-de"
        in caplog.text
    )
    caplog.clear()
    _task(Target(str(tmp_path), trained, None, None), "mt")  # a model of somebody else's
    assert not caplog.text
