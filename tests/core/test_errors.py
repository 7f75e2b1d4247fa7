import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import MissingDependencyError, did_you_mean


@pytest.mark.parametrize(
    ("word", "options", "advice"),
    [
        ("mml", ["tlm", "mlm"], "; did you mean 'mlm'?"),
        ("learning_rat", ["warmup", "learning_rate"], "; did you mean 'learning_rate'?"),
        ("zebra", ["tlm", "mlm"], "; there are: mlm, tlm"),
        ("", ["mlm"], "; there are: mlm"),
        ("mlm", [], "; there are none"),
    ],
)
def test_the_nearest_option_is_named_or_all_are(word, options, advice):
    assert did_you_mean(word, options) == advice


def test_a_long_list_is_cut():
    advice = did_you_mean("", [f"{number:03d}" for number in range(100)])
    assert advice.startswith("; there are: 000, 001, ")
    assert advice.endswith(", 018, 019 and 80 more")


@given(st.text(min_size=1), st.lists(st.text(min_size=1), min_size=1))
def test_every_advice_names_an_option(word, options):
    advice = did_you_mean(word, options)
    assert any(option in advice or repr(option) in advice for option in options)


def test_a_missing_package_comes_with_its_command():
    assert str(MissingDependencyError("the word tokenizer 'jieba'", "jieba")) == (
        "the word tokenizer 'jieba' needs the package 'jieba': pip install jieba"
    )
