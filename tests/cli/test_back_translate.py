"""`interlace back-translate`: what the command makes of its options, with a stand-in that translates."""

from functools import partial
from types import SimpleNamespace

import pytest

from command_line import command
from interlace.core.errors import SettingsError
from interlace.experiments import translation
from interlace.experiments.translation import Window
from interlace.models.translator import LineTranslation


@pytest.fixture
def called(monkeypatch):
    """The arguments that the translator was made with."""
    arguments = {}

    class Shouting:
        def __init__(self, name, source, target, search, **options):
            arguments.update(
                name=name, direction=f"{source}-{target}", search=search, **options
            )
            self.translator = SimpleNamespace(source=source, target=target)

        def windows(self, lines, stored=None):
            taken = list(lines)
            yield Window(taken, [LineTranslation(line.upper()) for line in taken])

    monkeypatch.setattr(translation, "LineTranslator", Shouting)
    return arguments


@pytest.fixture
def run(tmp_path):
    (tmp_path / "mono").write_text("unu doi\ntrei patru\n", encoding="utf-8")
    direction = ("--from", "ro", "--to", "en", "--output", tmp_path / "corpus")
    return partial(command, "back-translate", "RUN", tmp_path / "mono", *direction)


def test_options_are_settings_and_a_summary_is_printed(called, run, tmp_path):
    rules = [
        "--set",
        "filters={length={min_words=1}}",
        "--set",
        "search.beam=2",
        "--tag",
        "<BT>",
    ]
    assert "2 pairs; dropped: " in run(*rules).stderr
    written = (tmp_path / "corpus/train.en").read_text(encoding="utf-8")
    assert written == "<BT> UNU DOI\n<BT> TREI PATRU\n"
    assert (called["name"], called["direction"], called["search"].beam) == ("RUN", "ro-en", 2)
    assert (called["precision"], called["tokens"]) == ("auto", None)
    done = run("--precision", "no", "--tokens", 9)
    assert done.stdout.strip() == str(tmp_path / "corpus")
    assert (called["precision"], called["tokens"]) == ("no", 9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "serach.beam=2"], "did you mean 'search'"),
        (["--tag", "\x07"], "tag: "),
    ],
)
def test_a_wrong_setting_is_named(called, run, options, message):
    with pytest.raises(SettingsError, match=message):
        run(*options)
    assert called == {}
