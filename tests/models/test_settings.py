import subprocess
import sys

import pytest

from interlace.core.errors import SettingsError
from interlace.models.settings import ModelSettings, Shape


def test_start_and_shape_exclude_each_other():
    with pytest.raises(SettingsError, match="either 'start' or 'shape'"):
        ModelSettings(start="somewhere", shape=Shape())
    with pytest.raises(SettingsError, match="modernbert"):
        ModelSettings.read(
            {"shape": {"family": "modernbert"}, "languages": "embeddings"}, "model"
        )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 10, "heads": 3}, "multiple of heads"),
        ({"family": "modernbert", "width": 9, "heads": 3}, "must be even"),
        ({"layer": 3}, "did you mean 'layers'"),
    ],
)
def test_rejects_invalid_shapes(fields, message):
    with pytest.raises(SettingsError, match=message):
        Shape.read(fields)


def test_inner_size():
    assert Shape(width=96).inner == 384
    shape = Shape(family="modernbert", width=100, heads=2)
    assert shape.inner == 272  # 266.7, up to a multiple of 8


def test_reading_settings_imports_no_torch():
    code = "import sys, interlace.models.settings; "
    code += "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
