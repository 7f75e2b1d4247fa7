"""Reading a run folder: what is missing is empty, what is damaged is named."""

from pathlib import Path

import pytest

from interlace.core.errors import DataError
from interlace.report import read_scores
from interlace.report.runs import read_runs
from little_files import named_pipe
from report_runs import bare_run, score


def test_missing_files_are_empty_parts(tmp_path):
    (tmp_path / "recipe.json").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text('{"kind": "diagnostics", "step": 3}\n')
    (run,) = read_runs([tmp_path])
    assert run.label == tmp_path.name
    assert (run.steps, run.evaluations, run.samples, list(run.scores)) == ([], {}, [], [])
    assert run.words is None


def test_a_finished_run_without_its_recipe_is_damaged(make_run):
    folder = make_run("mlm", gain=0.0)
    (folder / "recipe.json").unlink()
    with pytest.raises(DataError, match=r"recipe\.json: missing, .*; restore it"):
        read_runs([folder])


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("metrics.jsonl", b'{"kind": "evaluation", "step": 1, "scores": {}}\n{"kind": "st\n', "line 2: damaged"),
        ("metrics.jsonl", b"[1]\n", "metrics.jsonl, line 1: damaged: input should be a valid dictionary, found [1]"),
        ("metrics.jsonl", b'{"kind": "other", "step": 1}\n\xff\n', "metrics.jsonl, line 2: damaged"),
        ("scores.json", b'[\n{"task": "pos",\n]', "double quotes: line 3"),
        ("scores.json", b'[{"task": "pos", "language": "", "metric": "f1", "score": 1}]', "key 'language': string"),
        ("run.json", b'{"seconds": {"training": "long"}}', "run.json: damaged: key 'seconds', key 'training'"),
        ("recipe.json", b"{", "recipe.json: damaged: Expecting property name"),
        ("samples.json", b'[{"objective": "m", "corpus": "en", "lines": {"reads": [1]}}]', "key 'lines'"),
        (
            "scores.json",
            b'[{"task": "pos", "language": "en", "metric": "f1", "score": 1, "contamination": {"ngram": []}}]',
            "scores.json, entry 1: damaged: key 'contamination', key 'ngram'",
        ),
        ("recipe.json", b'{"published": ["table 1"]}', "recipe.json: damaged: key 'published', entry 1"),
        ("words.safetensors", b"no such thing", "words.safetensors: damaged"),
    ],
)  # fmt: skip
def test_names_the_damaged_file(make_run, part, content, message):
    folder = make_run("mlm", gain=0.0)
    (folder / part).parent.mkdir(exist_ok=True)
    (folder / part).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_runs([folder])
    assert str(folder / part) in str(caught.value)
    assert message in str(caught.value)


def test_rejects_what_is_no_run_folder(make_run, tmp_path):
    with pytest.raises(DataError, match="at least one"):
        read_runs([])
    with pytest.raises(DataError, match=r"neither recipe\.json nor scores\.json"):
        read_runs([tmp_path])
    folder = make_run("mlm-small", gain=0.0)
    with pytest.raises(DataError, match="did you mean 'mlm-small'"):
        read_runs([folder.with_name("mlm-smal")])
    with pytest.raises(DataError, match="given twice"):
        read_runs([folder, folder])
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(DataError, match=r"a study's folder.*report.html.*cells"):
        read_runs([tmp_path])


def labels(*folders):
    return list(dict.fromkeys(run.label for run in read_runs(folders)))


@pytest.mark.parametrize(
    ("folders", "keys", "changes", "expected"),
    [
        (["r1", "r2"], ["", ""], [{}, {"seed": 2}], ["same"]),
        (
            ["w64", "w128"],
            ["", ""],
            [{"width": 64}, {"width": 128}],
            ["same (w64)", "same (w128)"],
        ),
        # scored with other settings
        (["a", "b"], ["x", "y"], [{}, {"seed": 2}], ["same (a)", "same (b)"]),
        (["a", "b", "c"], ["z", "w", "z"], [{}, {}, {}], ["same (a)", "same (b)"]),
    ],
)
def test_runs_that_differ_only_in_the_seed_share_a_column(
    tmp_path, folders, keys, changes, expected
):
    runs = []
    for folder, key, settings in zip(folders, keys, changes, strict=True):
        rows = [score("de", 10, settings_key=key, scores={"f1": 40.0})]
        runs.append(bare_run(tmp_path / folder, "same", rows, **settings))
    assert labels(*runs) == expected
    main, other = read_scores(runs)[:2]
    assert (main.system, main.run, main.main) == (expected[0], str(runs[0]), True)
    assert (other.metric, other.main, other.score) == ("f1", False, 40.0)


def test_the_baseline_is_the_first_run_or_the_named_one(tmp_path):
    base = bare_run(tmp_path / "base", "base", [score("de", 50.0)])
    tuned = bare_run(tmp_path / "tuned", "tuned", [score("de", 60.0)])
    assert labels(tuned, base) == ["tuned", "base"]
    for name in ("tuned", str(tuned)):
        assert [run.label for run in read_runs([base, tuned], name)] == ["tuned", "base"]
    with pytest.raises(DataError, match="did you mean 'tuned'"):
        read_runs([base, tuned], "tund")


def test_the_page_of_weam_averages_the_english_scores_of_three_models(
    tmp_path, monkeypatch, capsys
):
    for pair, english in (("en-de", 80.0), ("en-es", 82.0), ("en-zh", 81.0)):
        rows = [score("en", english, task="xnli"), score(pair[3:], 70.0, task="xnli")]
        bare_run(tmp_path / "runs" / f"weam-{pair}", f"mbert-weam-{pair}", rows)
    page = Path(__file__).parents[2] / "docs" / "objectives" / "weam.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(page), "exec"), {})  # noqa: S102 - our own page
    assert float(capsys.readouterr().out) == 81


def test_metrics_without_lines_are_not_read_whole(make_run):
    folder = make_run("mlm", gain=0.0)
    with (folder / "metrics.jsonl").open("wb") as file:
        file.truncate(1 << 32)
    with pytest.raises(
        DataError, match=r"metrics\.jsonl, line 1: more than 8 MB; delete this line"
    ):
        read_runs([folder])
    (folder / "metrics.jsonl").unlink()
    named_pipe(folder / "metrics.jsonl")
    with pytest.raises(DataError, match=r"metrics\.jsonl: a pipe or a device"):
        read_runs([folder])
