import re
import sys
import tomllib
from pathlib import Path

import pytest

from interlace.core.errors import (
    EXTRAS,
    MissingDependencyError,
    dependency_errors,
    did_you_mean,
    require,
)

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
MODULES = {
    "scikit-learn": "sklearn"
}  # names that are imported, where they are not those of packages


@pytest.mark.parametrize(
    ("word", "options", "advice"),
    [
        ("mml", ["tlm", "mlm"], "; did you mean 'mlm'?"),
        ("zebra", ["tlm", "mlm"], "; there are: mlm, tlm"),
        ("", ["mlm"], "; there are: mlm"),
        ("mlm", [], "; there are none"),
    ],
)
def test_the_nearest_option_is_named_or_all_are(word, options, advice):
    assert did_you_mean(word, options) == advice


def test_extras_are_those_that_install_the_packages():
    extras = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    extra_of = {"huggingface_hub": "train"}  # which transformers needs
    for extra in extras.keys() - {"all", "dev", "docs"}:
        for requirement in extras[extra]:
            package = re.split("[^a-z_-]", requirement)[0]
            if package != "interlace":
                extra_of[MODULES.get(package, package)] = extra
    assert extra_of == EXTRAS
    assert set(re.findall(r"[a-z]+", extras["all"][0])) - {"interlace"} >= {
        extra.partition("-")[0] for extra in EXTRAS.values()
    } - {"train"}


@pytest.mark.parametrize(
    ("module", "needed_by", "message"),
    [
        (
            "torch.nn",
            "",
            "this needs the extra 'train' (package 'torch'): pip install 'interlace[train]'",
        ),
        (
            "peft",
            "model.lora",
            "model.lora needs the extra 'lora' (package 'peft'): pip install 'interlace[lora]'",
        ),
        (
            "pandas",
            "a data frame",
            "a data frame needs the package 'pandas': pip install pandas",
        ),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    module, needed_by, message
):
    with pytest.raises(MissingDependencyError) as error, dependency_errors(needed_by):
        raise ModuleNotFoundError(name=module)
    assert str(error.value) == message


def test_a_required_package_is_not_imported():
    require("this", "a poem")
    assert "this" not in sys.modules
    with pytest.raises(MissingDependencyError, match="a poem needs the package 'no_such_one'"):
        require("no_such_one", "a poem")


def test_a_missing_module_of_no_extra_is_a_bug():
    with pytest.raises(ModuleNotFoundError, match="lost"), dependency_errors():
        raise ModuleNotFoundError("lost", name="interlace.lost")
