from command_line import run_code
from interlace.models.settings import Shape


def test_inner_size():
    assert Shape(width=96).inner == 384
    shape = Shape(family="modernbert", width=100, heads=2)
    assert shape.inner == 272  # 266.7, up to a multiple of 8


def test_reading_settings_imports_no_torch():
    code = "import sys, interlace.models.settings; "
    code += "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    run_code(code)
