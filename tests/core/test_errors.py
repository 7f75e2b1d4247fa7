import pytest

from interlace.core.errors import MissingDependencyError, did_you_mean


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


def test_a_missing_package_comes_with_its_command():
    assert str(MissingDependencyError("the word tokenizer 'jieba'", "jieba")) == (
        "the word tokenizer 'jieba' needs the package 'jieba': pip install jieba"
    )
