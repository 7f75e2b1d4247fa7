"""The recipes of docs/data.md read files of these formats."""

import json
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from interlace.experiments.checking import check_recipe
from interlace.experiments.recipe import Recipe
from interlace.text.lines import write_lines

PAGE = (Path(__file__).parents[1] / "docs/data.md").read_text(encoding="utf-8")
LINES = [f"line {number} of text" for number in range(9)]
datasets = pytest.importorskip("datasets")


def write_hub_set(folder, configuration, rows):
    write_lines(folder / "train.jsonl", map(json.dumps, rows))
    header = f"---\nconfigs:\n- config_name: {configuration}\n  data_files: train.jsonl\n---"
    write_lines(folder / "README.md", header.split("\n"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data root with the files that the page names."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for language in ("en", "de"):
        files = [f"news/{language}/a.txt", f"news/{language}/b/c.gz", f"web/a.{language}.zst"]
        for name in (*files, f"parallel/a.{language}.xz", f"parallel/b.{language}.xz"):
            write_lines(tmp_path / name, LINES)
    rows = [{"body": line} for line in LINES]
    write_lines(tmp_path / "crawl/a.jsonl.gz", map(json.dumps, rows))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "crawl/b.parquet")
    pairs = [{"src": line, "tgt": line} for line in LINES]
    articles = [{"id": line, "text": line} for line in LINES]
    write_hub_set(tmp_path / "ada/pairs", "en-de", pairs)
    write_hub_set(tmp_path / "wikimedia/wikipedia", "20231101.en", articles)
    table = ["english\tswahili", *(f"{line}\t{line}" for line in LINES)]
    write_lines(tmp_path / "pairs.tsv.gz", table)
    segment = '<tuv xml:lang="{}"><seg>a segment</seg></tuv>'
    segments = segment.format("en-US") + segment.format("de")
    write_lines(tmp_path / "memories/a.tmx.gz", [f"<tmx>{f'<tu>{segments}</tu>' * 9}</tmx>"])
    return tmp_path


def test_recipes_of_the_page_read_their_files(folder):
    blocks = "\n".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
    recipe = Recipe.read(
        {"name": "page", "data_root": str(folder), "objectives": {"mlm": {"max_length": 32}}}
        | tomllib.loads(blocks)
    )
    reports = check_recipe(recipe)
    assert not [finding for report in reports if report.failed for finding in report.findings]
    rows = {report.name: report.facts["rows"] for report in reports if "rows" in report.facts}
    assert rows == {
        "text en (train)": 27,
        "text de (train)": 27,
        "pairs en-de (train)": 18,
        "web en (train)": 18,
        "hub en-de (train)": 9,
        "table en-sw (train)": 9,
        "memory en-de (train)": 9,
        "wikipedia en (train)": 9,
    }
