"""The design under test: layers, figures, and what the source never does. Each check is shown to be able to fail."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import house
import interlace
from command_line import run_code

PACKAGE = Path(interlace.__file__).parent
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def ours():
    return house.modules(PACKAGE)


@pytest.fixture
def build(tmp_path):
    """Build a small package from sources by path."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return house.modules(tmp_path)

    return write


RULES = "wrong_layers private_imports cycles duplicate_classes pickles"


@pytest.mark.parametrize("rule", RULES.split())
def test_the_package_follows_the_rule(ours, rule):
    assert len(ours) > 20
    assert list(getattr(house, rule)(ours)) == []


# What other packages keep private and we need, with the reason.
NEEDED = {
    "core/settings.py: from pydantic._internal._model_construction import ModelMetaclass as _ModelKind": (
        "for type checkers only: at run time it is type(BaseModel)"
    ),
    "models/attention.py: model._supports_sdpa": "transformers has no public name for it",
    "models/attention.py: torch.ops.aten._flash_attention_forward": (
        "attention of sequences in a row with dropout, which torch's public function leaves out"
    ),
    "models/cast_weights.py: torch._foreach_copy_": "public since torch 2.14 as foreach.copy_",
    "training/device.py: AcceleratorState._reset_state": (
        "accelerate allows one precision a process without it"
    ),
    "training/device.py: AcceleratorState._shared_state": "whether there is a state to reset",
}


def test_only_public_names_of_other_packages_are_used_but_for_those_with_a_reason(ours):
    assert set(house.private_uses(ours)) == set(NEEDED)


@pytest.mark.parametrize(
    ("line", "uses"),
    [
        ("import torch._dynamo", 1),
        ("from torch import _C", 1),
        ("from torch._C import x", 1),
        ("torch._foreach_sub_(x)", 1),
        ("model.layers[0]._hooks.clear()", 1),
        ("model._hooks = {}", 1),
        ("import torch.nn\nfrom torch import __version__", 0),
        ("from interlace.text._a import x", 0),
        ("row._replace(x=row._fields)\nos._exit(0)", 0),
        ("class A:\n    def f(self):\n        self._x = 1\n        return other._x", 0),
    ],
)
def test_a_private_name_of_another_package_is_found(build, line, uses):
    assert len(list(house.private_uses(build({"text/a.py": line + "\n"})))) == uses


WATCH = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    brought = sorted({"torch", "transformers", "accelerate"} & set(sys.modules))
    if brought:
        sys.exit(f"{name} brings {', '.join(brought)}")
"""


def brought_by(names):
    """What the first heavy one of these modules says in a fresh interpreter; empty where none is."""
    return run_code(WATCH, *names, check=False).stderr.strip()


def test_a_heavy_module_is_found_by_running_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "torch.py").write_text("")
    (tmp_path / "heavy_one.py").write_text("import torch")
    assert brought_by(["json", "heavy_one"]) == "heavy_one brings torch"


def test_commands_and_public_names_start_without_torch(ours):
    names = house.LIGHT | {"", "objectives", "tasks", "report", "cli", "__main__"}
    light = [
        ".".join(filter(None, [house.PACKAGE, module.name]))
        for module in ours
        if module.package_name in names
        and (
            module.package_name in house.LIGHT or not re.search(r"\._|\.common\.", module.name)
        )
    ]
    assert "interlace.cli" in light
    assert brought_by(light) == ""


LOADED = """
import atexit, sys

@atexit.register
def count():
    names = [name for name in sys.modules if name.partition(".")[0] == "interlace"]
    print(len(names), file=sys.stderr)

def command(line):
    from interlace.__main__ import main
    sys.argv = ["interlace", *line.split()]
    main()

"""


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("command('align a.en a.de -o links')", 47),
        ("command('preview mlm')", 53),
        ("command('report --help')", 16),
        ("import interlace.report.page", 41),
        ("import interlace.experiments.evaluate", 96),
    ],
)
def test_a_command_and_an_import_load_few_of_our_modules(tmp_path, monkeypatch, code, most):
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("a cat\n")
    assert int(run_code(LOADED + code).stderr.split()[-1]) <= most


def test_an_import_of_a_private_module_is_found(build):
    package = build(
        {
            "text/_a.py": "",
            "text/b.py": "from interlace.text._a import x",
            "data/c.py": "from interlace.text import _a",
        }
    )
    assert [complaint.partition(":")[0] for complaint in house.private_imports(package)] == [
        "data/c.py"
    ]


def test_modules_that_import_each_other_are_found(build):
    files = {
        "text/a.py": "from interlace.text.b import x",
        "text/b.py": "import interlace.text.c",
        "text/c.py": "from interlace.text import a",
        "text/d.py": "def f():\n    from interlace.text.e import x",
        "text/e.py": "from interlace.text.d import f",
    }
    assert house.cycles(build(files)) == ["text.a", "text.b", "text.c"]


def test_figures_of_the_source_only_improve(ours):
    """`INTERLACE_RECORD=1 pytest tests/test_house.py` stores today's figures.

    Rates must not get worse. A feature may add nodes, which then shows in the diff of the stored figures.
    """
    figures = house.figures(ours)
    figures["nodes of tests"] = house.nodes_of_files((ROOT / "tests").rglob("*.py"))
    path = ROOT / "tests" / "house_figures.json"
    limits = json.loads(path.read_text())
    if "INTERLACE_RECORD" in os.environ:
        limits |= {name: figures[name] for name in ("nodes", "nodes of tests")}
    assert {name: value for name, value in figures.items() if value > limits[name]} == {}
    if "INTERLACE_RECORD" in os.environ:
        path.write_text(json.dumps(figures, indent=1) + "\n")


def test_figures_of_a_package(build):
    function = '"""A."""\n\n\ndef f():\n    """F."""\n    return 1  # one\n'
    package = build({"text/a.py": function, "text/_b.py": "X = [y for y in (1 if z else 2)]\n"})
    # Two: Module, FunctionDef, arguments, Return, Constant. One: Module, Assign, Name, Store, 11 of the list.
    assert house.figures(package) == {
        "nodes": 20,
        "nodes a line": 6.67,
        "comprehensions": 333.3,
        "nested comprehensions": 0,
        "tuple assignments": 0,
        "conditional expressions": 333.3,
        "private modules, %": 50,
    }


@pytest.mark.parametrize(
    ("line", "figure"),
    [
        ("x = [z for y in a for z in y]", "nested comprehensions"),
        ("x = [[z for z in y] for y in a]", "nested comprehensions"),
        ("x, y = 1, 2", "tuple assignments"),
    ],
)
def test_dense_lines_are_counted(build, line, figure):
    assert house.figures(build({"text/a.py": line + "\n"}))[figure] == 1000


def test_no_loading_call_may_run_a_checkpoints_code():
    roots = (ROOT / "src", ROOT / "tests", ROOT / "benchmarks")
    assert (
        list(house.remote_code(path for root in roots for path in sorted(root.rglob("*.py"))))
        == []
    )


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("AutoTokenizer.from_pretrained(folder)", 1),
        ("transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True)", 1),
        ("(AutoModel if x else Other).from_config(config, **given)", 1),
        ("opener.from_pretrained(folder)", 1),
        ("make = AutoModelForMaskedLM.from_config", 1),
        ("AutoTokenizer.from_pretrained(folder, trust_remote_code=False)", 0),
        ("opener.from_pretrained(folder, trust_remote_code=False)", 0),
        ("type(model).from_pretrained(folder)", 0),
        ("BertModel.from_pretrained(folder)", 0),
    ],
)
def test_a_call_that_may_run_code_is_found(tmp_path, text, complaints):
    (tmp_path / "a.py").write_text(text + "\n", encoding="utf-8")
    assert len(list(house.remote_code([tmp_path / "a.py"]))) == complaints


# Fixtures of pytest-benchmark, -mock, -asyncio, -httpserver, -base-url, -django, -flask, -docker and -testinfra.
FIXTURES_OF_PLUGINS = set(
    "benchmark benchmark_weave mocker class_mocker module_mocker event_loop httpserver base_url db client live_server "
    "app docker_services host faker".split()
)


def test_no_fixture_replaces_one_of_a_common_plugin():
    fixtures = {
        name for path in sorted((ROOT / "tests").rglob("*.py")) for name in house.fixtures(path)
    }
    assert {"ours", "real_data", "gpu_step"} <= fixtures
    assert fixtures & FIXTURES_OF_PLUGINS == set()


def test_no_machine_paths_in_tracked_text():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    tracked = [
        ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()
    ]
    assert list(house.machine_paths(tracked)) == []


@pytest.mark.parametrize(
    ("line", "complaints"),
    [
        ("see /" + "work/data/x.txt", 1),
        ('root = "/' + 'home/ada/runs"', 1),
        ("(/" + "Users/ada/x)", 1),
        ("C:" + "\\Users\\ada", 1),
        ("../shared/data and ./work/home/root/x", 0),
        ("https://example.org/home/page", 0),
        ("/path/to/python, /tmp/x, /etc/hosts, <root>/home/x, ~/work/x", 0),
    ],
)
def test_a_machine_path_is_found(tmp_path, line, complaints):
    (tmp_path / "a.md").write_text(f"# A\n{line}\n", encoding="utf-8")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\xff")
    assert len(list(house.machine_paths(sorted(tmp_path.iterdir())))) == complaints


@pytest.mark.parametrize(
    ("check", "place", "text", "complaints"),
    [
        ("wrong_layers", "text/lines.py", "from interlace.data import Sentences", 1),
        ("wrong_layers", "text/lines.py", "if TYPE_CHECKING:\n    import interlace.cli", 1),
        ("wrong_layers", "text/lines.py", "from interlace import data", 1),
        ("wrong_layers", "text/__init__.py", "from ..aligners import diagonal", 1),
        ("wrong_layers", "attic/trunk.py", "import os", 1),
        ("wrong_layers", "data/corpus.py", "from interlace.text import Text\nimport numpy", 0),
        (
            "wrong_layers",
            "__init__.py",
            "def pretrain():\n    from interlace.experiments.pretrain import pretrain",
            0,
        ),
        (
            "duplicate_classes",
            "data/a.py",
            "class A:\n    pass\nclass A:\n    pass\nclass _B:\n    pass",
            1,
        ),
        ("pickles", "training/checkpoint.py", "torch.load(path, weights_only=False)", 1),
        ("pickles", "training/checkpoint.py", "torch.save(x, path)", 1),
        ("pickles", "training/checkpoint.py", "accelerator.save_state(path)", 1),
        ("pickles", "training/checkpoint.py", "np.load(path, allow_pickle=True)", 1),
        (
            "pickles",
            "training/checkpoint.py",
            "AutoModel.from_pretrained(name, trust_remote_code=trust)",
            1,
        ),
        (
            "pickles",
            "training/checkpoint.py",
            "AutoModel.from_pretrained(name, trust_remote_code=False)",
            0,
        ),
    ],
)
def test_checks_can_fail(build, check, place, text, complaints):
    assert len(list(getattr(house, check)(build({place: text})))) == complaints
