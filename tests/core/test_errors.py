import pytest

from interlace.core.errors import did_you_mean


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
