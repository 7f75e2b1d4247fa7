import subprocess
import sys

import pytest

from interlace.core.errors import SettingsError
from interlace.core.settings import fields_of
from interlace.models.settings import ModelSettings, Shape


def test_start_and_shape_exclude_each_other():
    with pytest.raises(SettingsError, match="either 'start' or 'shape'"):
        ModelSettings(start="somewhere", shape=Shape())
    with pytest.raises(SettingsError, match="modernbert"):
        ModelSettings.read({"shape": {"family": "modernbert"}, "languages": "embeddings"}, "model")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 10, "heads": 3}, "multiple of heads"),
        ({"family": "modernbert", "width": 9, "heads": 3}, "must be even"),
        ({"family": "elmo"}, "family"),
        ({"dropout": 1.0}, "dropout"),
        ({"layer": 3}, "did you mean 'layers'"),
    ],
)
def test_rejects_invalid_shapes(fields, message):
    with pytest.raises(SettingsError, match=message):
        Shape.read(fields)


@pytest.mark.parametrize(
    ("shape", "inner"),
    [
        (Shape(width=96), 384),
        (Shape(width=96, feed_forward=100), 100),
        (Shape(family="modernbert", width=96), 256),
        (Shape(family="modernbert", width=100, heads=2), 272),  # 266.7, up to a multiple of 8
    ],
)
def test_inner_size(shape, inner):
    assert shape.inner == inner


def test_every_setting_has_a_description():
    assert all(row[3] for model in (Shape, ModelSettings) for row in fields_of(model))


def test_reading_settings_imports_no_torch():
    code = "import sys, interlace.models.settings; "
    code += "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
