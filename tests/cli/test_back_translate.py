"""`interlace back-translate`: what the command makes of its options, with a stand-in that translates."""

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import SettingsError
from interlace.experiments import translation as translate
from interlace.experiments.translation import Window
from interlace.models.translator import LineTranslation, Translator
from interlace.text.lines import write_lines
from little_translators import LINES, little_run, little_vocab


@pytest.fixture
def called(monkeypatch):
    """The arguments that the interpreter was made with."""
    given = {}

    class Shouting:
        def __init__(self, name, source, target, search, **options):
            given.update(name=name, direction=f"{source}-{target}", search=search, **options)
            self.translator = SimpleNamespace(source=source, target=target)

        def windows(self, lines, size, first=0, keep=None):
            taken = list(lines)
            found = [LineTranslation(line.upper()) for line in taken]
            yield Window(first, taken, found)

    monkeypatch.setattr(translate, "LineTranslator", Shouting)
    monkeypatch.setattr(translate, "check_direction", lambda *_: None)
    return given


def run(*arguments):
    return (
        CliRunner()
        .invoke(application(), ["back-translate", *map(str, arguments)], catch_exceptions=False)
        .stdout
    )


def test_options_are_settings_and_a_summary_is_printed(called, tmp_path):
    (tmp_path / "mono").write_text("unu doi\ntrei patru\n", encoding="utf-8")
    into = tmp_path / "made"
    rules = ["--set", "filters={length={min_words=1}}", "--set", "search.beam=2", "--tag", "<BT>"]
    command = ["RUN", tmp_path / "mono", "--from", "ro", "--to", "en", "--output"]
    text = run(*command, into, *rules, "--json")
    assert json.loads(text) == {
        "from": "ro",
        "to": "en",
        "pairs": 2,
        "dropped": {"empty": 0, "unfinished": 0},
    }
    assert (into / "train.en").read_text(encoding="utf-8") == "<BT> UNU DOI\n<BT> TREI PATRU\n"
    assert (called["name"], called["direction"], called["search"].beam) == ("RUN", "ro-en", 2)
    assert run(*command, into, *rules).strip() == str(into)
    assert [called[key] for key in ("precision", "tokens", "rows")] == ["auto", None, None]
    run(
        *command,
        tmp_path / "second",
        "--shard",
        "2/2",
        "--precision",
        "no",
        "--tokens",
        9,
        "--batch",
        3,
    )
    assert [called[key] for key in ("precision", "tokens", "rows")] == ["no", 9, 3]
    assert (tmp_path / "second/train.en").read_text(encoding="utf-8") == "TREI PATRU\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "serach.beam=2"], "did you mean 'search'"),
        (["--tag", "y", "--set", "tag=x"], "--set tag: --tag"),
        (["--tag", "\x07"], "one word of printable characters"),
    ],
)
def test_a_wrong_setting_is_named(called, tmp_path, options, message):
    (tmp_path / "mono").write_text("unu\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        run(
            "RUN",
            tmp_path / "mono",
            "--from",
            "ro",
            "--to",
            "en",
            "--output",
            tmp_path / "made",
            *options,
        )
    assert called == {}


def test_an_interrupted_command_resumes(tmp_path, monkeypatch):
    folder, lines, begun = little_run(tmp_path / "run", little_vocab()), Translator.lines, []
    write_lines(tmp_path / "mono", LINES)
    command = [
        folder,
        tmp_path / "mono",
        "--from",
        "en",
        "--to",
        "de",
        "--set",
        "window=1",
        "--output",
    ]
    run(*command, tmp_path / "whole")

    def counted(self, text):
        begun.append(text)
        if begun == [[line] for line in LINES]:
            raise KeyboardInterrupt
        return lines(self, text)

    monkeypatch.setattr(Translator, "lines", counted)
    run(*command, tmp_path / "made")
    assert not (tmp_path / "made").exists()
    run(*command, tmp_path / "made")
    assert begun == [[line] for line in [*LINES, LINES[-1]]]  # only the interrupted window again
    for name in ("train.en", "train.de"):
        assert (tmp_path / "made" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
