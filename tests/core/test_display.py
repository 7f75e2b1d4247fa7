"""Text of data, files and servers in messages: no terminal escapes, no secrets, of bounded length."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.display import MAX_MESSAGE, listed, message, visible, without_secrets
from interlace.core.errors import DataError, did_you_mean

TOKEN = "hf_" + "x" * 30


@given(st.text(st.characters(exclude_categories=[])))
def test_visible_text_has_no_control_characters_and_stays_valid_json(text):
    shown = visible(text)
    assert all(
        char in "\t\n" or char.isprintable() or char not in shown
        for char in map(chr, range(0xA0))
    )
    assert not set(shown) & {
        chr(code) for code in (0x61C, 0x200E, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
    }
    shown.encode()  # no lone surrogates
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


def test_letters_of_all_scripts_stay_as_they_are():
    text = "Grüße, नमस्ते क्‍ष, می‌روم, 👩‍👩‍👧, ไทย, −5 °\n\tx"
    assert visible(text) == text


def test_an_error_shows_no_secret(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "no-usual-token")
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:proxy-password@localhost:1")
    for text in (
        f"401: you sent Authorization: Bearer {TOKEN[3:]}",
        f"the hub received {TOKEN}",
        "echo: no-usual-token",
        "nonnumeric port: 'proxy-password@localhost:1'",
        "https://user:p@ss:word@example.org/x: not found",
        "https://only-a-token@example.org/x",
    ):
        shown = str(DataError(text))
        assert "***" in shown
        assert not any(
            secret in shown
            for secret in (TOKEN[3:], "usual", "password", "word@", "ss:word", "only-a")
        )
    for text in (
        "https://example.org/a@b?c=d@e and ada@example.org",
        "runs/hf_checkpoints/hf_export_of_a_long_name: no model",
    ):
        assert without_secrets(text) == text


def test_a_stored_token_of_the_hub_is_hidden(monkeypatch, tmp_path):
    from huggingface_hub import constants

    (tmp_path / "token").write_text("stored-token\n")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    assert without_secrets("it says stored-token.") == "it says ***."


def test_a_long_message_keeps_its_beginning_and_end():
    shown = str(DataError(f"a.tsv, line 3: found {'x' * 5_000_000}; expected a number"))
    assert len(shown) < MAX_MESSAGE + 100
    assert shown.startswith("a.tsv, line 3: found xxx")
    assert shown.endswith("xxx; expected a number")


@pytest.mark.parametrize("options", [["x1"] * 300_000, ["y" * 250_000] * 20])
def test_a_list_of_alternatives_is_short(options):
    assert len(did_you_mean("x" * 100_000, options)) < 5000
    assert len(listed(options)) < 5000


def test_a_message_is_not_too_long_though_escapes_are_longer_than_what_they_stand_for():
    assert len(message("\x1b" * MAX_MESSAGE)) <= MAX_MESSAGE
