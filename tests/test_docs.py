"""Generated parts of the pages are up to date, the site's pages are in its navigation, and its notebooks run."""

import ast
import importlib.util
import inspect
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from interlace.api import runs
from interlace.cli import application
from interlace.experiments.studies import cells_of, read_study
from little_checkpoints import save
from pinned import needs_pinned
from toy_settings import TOY, VOCAB

DOCS = Path(__file__).parents[1] / "docs"
MARKDOWN, NOTEBOOKS = (
    sorted(path for path in DOCS.glob(f"**/*{suffix}") if "_build" not in path.parts)
    for suffix in (".md", ".ipynb")
)


def script(name):
    """A script of the site as a module."""
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


generate = script("generate")
notebooks = script("notebooks")
gallery = script("gallery")


def names_of(path):
    return path.relative_to(DOCS).as_posix()


def code(notebook):
    """The source of each code cell."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def outputs(notebook):
    """What is stored of each output: its text, or the values of its formats."""
    stored = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            stored.append(output.get("data") or {output["name"]: output["text"]})
    return stored


@needs_pinned("typer", "rich")
@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_pages_are_up_to_date(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert page == generate.up_to_date(page), "run: python docs/generate.py"


def test_the_list_of_pages_for_language_models_is_up_to_date():
    page = (DOCS / "llms.txt").read_text(encoding="utf-8")
    assert page == generate.llms(), "run: python docs/generate.py"
    assert page.count("\n- [") > 30


def test_public_functions_describe_their_parameters_and_errors():
    page = (DOCS / "reference/api.md").read_text(encoding="utf-8")
    for name, function in generate.public_functions().items():
        text = inspect.getdoc(function)
        for parameter in generate.parameters_of(function):
            described = rf"\b{parameter.name}(, \w+)*: |`{parameter.name}\b"
            is_obvious = parameter.name in {"pairs", "aligned", "folder"}
            assert is_obvious or re.search(described, text), (name, parameter.name)
        assert "Raises:" in text or name == "lexicon", name
        last = "write_report" if name == "report" else name.rpartition(".")[0] or name
        assert f".{last.replace('Pairs', 'ParallelText')}\n" in page, name


def test_the_gallery_shows_every_figure_of_its_folder():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"_static/gallery/([\w-]+)\.svg", page))
    files = sorted((DOCS / "_static/gallery").iterdir())
    assert shown == {path.stem for path in files} == {*gallery.OF_THE_REPORT, gallery.OWN}
    for path in files:
        assert ET.parse(path).getroot().tag.endswith("}svg")  # noqa: S314 - our own
    assert sum(path.stat().st_size for path in files) < 100_000


def test_the_navigation_has_every_page():
    pages = {names_of(path).rpartition(".")[0] for path in [*MARKDOWN, *NOTEBOOKS]}
    listed = {"index"}
    for path in MARKDOWN:
        page = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(path.parent / line).relative_to(DOCS).as_posix() for line in entries}
    assert listed == pages


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names_of)
def test_links_of_notebooks_lead_to_pages(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        assert link.startswith("https:") or (path.parent / link).is_file(), link


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names_of)
def test_stored_outputs_are_of_the_cells_and_name_no_machine(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    digest = notebook["metadata"]["interlace"]["digest"]
    assert digest == notebooks.digest(notebook), "run: make notebooks"
    stored = outputs(notebook)
    assert stored
    for output in stored:
        text = "".join("".join(content) for content in output.values())
        assert text
        assert "stderr" not in output
        assert not re.search(r"(?:^|[\s'\"(=])/\w+/|0x[0-9a-f]{8}", text), text
    assert path.stat().st_size < 50_000


def test_a_changed_cell_makes_outputs_stale():
    cells = [{"cell_type": "code", "source": ["a\n", "b"]}, {"cell_type": "markdown"}]
    digest = notebooks.digest({"cells": cells})
    assert digest == notebooks.digest({"cells": [{"cell_type": "code", "source": "a\nb"}]})
    assert digest != notebooks.digest({"cells": [{"cell_type": "code", "source": "a\nc"}]})


def run(notebook, monkeypatch, folder, **replaced):
    """Run the cells; return what notebooks would show: the last value of each cell."""
    monkeypatch.chdir(folder)
    values, names = [], {}
    for source in code(notebook):
        for old, new in replaced.items():
            source = source.replace(old, new)  # noqa: PLW2901
        body = ast.parse(source).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), notebook.name, "exec"), names)  # noqa: S102 - our own notebooks
        if last is not None:
            expression = compile(ast.Expression(last.value), notebook.name, "eval")
            values.append(eval(expression, names))  # noqa: S307
    return [value for value in values if value is not None]


def test_quickstart(tmp_path, monkeypatch):
    small = {**TOY, **VOCAB, "train.threads": "1", "train.steps": "20"}
    read = runs.read_recipe
    monkeypatch.setattr(
        runs, "read_recipe", lambda name, changes=None: read(name, {**(changes or {}), **small})
    )
    values = run(
        DOCS / "quickstart.ipynb",
        monkeypatch,
        tmp_path,
        **{"steps=100, ": "", ", settings=small": ""},
    )
    drawn, (words, tags), scores, similarity, _ = values
    assert drawn._repr_svg_().startswith("<svg")
    assert words == {"Haus": 16.0}
    assert tags == [["DET", "NOUN", "AUX", "ADJ"]]
    assert "retrieval" in scores._repr_html_()
    assert similarity.shape == (3, 3)
    assert (tmp_path / "runs/quickstart/report.html").is_file()


def test_the_tutorial_on_lexicons(tmp_path, monkeypatch):
    drawn, translations, entries, links = run(
        DOCS / "tutorials/lexicon.ipynb", monkeypatch, tmp_path
    )
    assert drawn._repr_svg_().startswith("<svg")
    assert "Haus" in translations
    assert len(entries) == 5
    assert links == ["0-0 1-1 2-2 3-3 4-4"]
    notebook = json.loads((DOCS / "tutorials/lexicon.ipynb").read_text(encoding="utf-8"))
    texts = ["".join(output.get("text/plain", "")) for output in outputs(notebook)]
    assert {repr(translations), repr(links)} < set(texts)
    assert (tmp_path / "en-de.tsv").is_file()


def test_the_tutorial_on_a_new_language(tmp_path, monkeypatch, capsys):
    _, subwords = run(
        DOCS / "tutorials/continue.ipynb", monkeypatch, tmp_path, **{"steps=60": "steps=2"}
    )
    assert "retrieval sw p@1" in capsys.readouterr().out
    assert "".join(subwords).replace("▁", " ").strip() == "mwalimu ananunua kitabu leo"
    assert (tmp_path / "runs/swahili/model/README.md").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("real_data")
def test_the_tutorial_on_a_published_encoder(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("INTERLACE_CHECKPOINT", str(save("xlm-r", tmp_path / "start")))
    pairs, _, similarity, drawn, shape = run(
        DOCS / "tutorials/real.ipynb", monkeypatch, tmp_path, **{"steps=40": "steps=2"}
    )
    assert len(pairs) == 3320
    assert (
        len(
            re.findall(
                r"(?:before|after) +(?:word_alignment|retrieval)", capsys.readouterr().out
            )
        )
        == 4
    )
    assert similarity.shape == (3, 3)
    assert drawn._repr_svg_().startswith("<svg")
    assert shape[0] == 3
    assert (tmp_path / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evaluate", "compare", "unsupervised"])
def test_the_tutorial_on_scores_runs(name, tmp_path, monkeypatch, capsys):
    steps = {"steps=400": "steps=4", "steps=600": "steps=4"}
    run(DOCS / f"tutorials/{name}.ipynb", monkeypatch, tmp_path, **steps)
    assert re.search(r" \d+\.\d", capsys.readouterr().out)


COMMANDS = [
    (path, *found)
    for path in [DOCS.parent / "README.md", *MARKDOWN, *NOTEBOOKS]
    for found in re.findall(
        r'^ {4}"?(?: {4})?interlace ([\w-]+) ([^#\n]*)', path.read_text("utf-8"), re.MULTILINE
    )
]


@pytest.mark.parametrize(("path", "command", "rest"), COMMANDS)
def test_commands_of_pages_have_the_options(path, command, rest):
    shown = CliRunner().invoke(application(), [command, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, path
    for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", rest):
        assert option in shown.stdout, path


def test_studies_of_the_page_on_evaluation_are_valid(tmp_path):
    page = (DOCS / "evaluation.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    studies = []
    for number, text in enumerate(block for block in blocks if "[systems." in block):
        file = tmp_path / f"{number}.toml"
        file.write_text(text, encoding="utf-8")
        studies.append({cell.system: cell.recipe for cell in cells_of(*read_study(str(file)))})
    adaptation, rates = studies
    assert set(adaptation) == {"before", "weam", "alm"}
    steps = {name: recipe.train.steps for name, recipe in rates.items()}
    assert steps == {"default": 500, "slow": 500, "long": 1000}
    assert rates["slow"].train.optimizer.learning_rate == 1e-3
