"""Corrupted inputs of libraries with compiled code, and of the hub: tokenizers, HTTP answers."""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from huggingface_hub import constants

from fuzzing import ESCAPES, ODD, RAW, corrupt_value
from interlace.core import hub
from interlace.core.errors import InterlaceError
from interlace.data.tokenizer_files import download
from interlace.data.vocab import Vocab
from little_translators import little_vocab

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

SECONDS = 60  # of computing
EXPRESSIONS = (
    "(a+)+$",
    "(",
    "(a|aa)+$",
    "[",
    r"\p{L}+|.",
    "(?=a)*",
    "((a{1,1000}){1,1000}){1,1000}",
    "(a)\\1{9}",
    "",
)
STATUSES = (
    "200 OK",
    "302 Found",
    "401 A",
    "403 B",
    "404 C",
    "429 D",
    "500 E",
    "503 F",
    "999 G",
    "abc",
    "-1 X",
)
MODEL: dict[str, Any] = {
    "id": "me/x",
    "sha": "a" * 40,
    "siblings": [{"rfilename": "config.json"}],
}


def outcome(work: Callable[[], object]) -> str:
    """Return what is wrong with how some work ends: a traceback, or raw control characters in a message."""
    try:
        work()
    except InterlaceError as error:
        raw = RAW.search(str(error))
        return f"prints {raw[0]!r} in {str(error)[:200]!r}" if raw else ""
    except BaseException:  # noqa: BLE001 - a panic too
        return traceback.format_exc()[-1500:]
    return ""


def tokenizer_case(rng: random.Random) -> str:
    """Return a `tokenizer.json` with a corrupted value, or with an odd regular expression."""
    text = little_vocab().tokenizer.to_str()
    if rng.random() < 0.5:
        return corrupt_value(text, rng)
    pattern = {"Regex": rng.choice(EXPRESSIONS)}
    step = rng.choice(["pre_tokenizer", "normalizer", "decoder"])
    split = {
        "type": "Split",
        "pattern": pattern,
        "behavior": "Isolated",
        "invert": rng.random() < 0.5,
    }
    replace = {"type": "Replace", "pattern": pattern, "content": rng.choice(["", "b", ODD[9]])}
    return json.dumps(json.loads(text) | {step: split if step == "pre_tokenizer" else replace})


def use_tokenizer(content: str) -> str:
    """Return what is wrong with how a tokenizer is opened, encodes and decodes."""

    def use() -> None:
        vocab = Vocab.load(str(path))
        ids = vocab.encode(
            ["the cat", f"{'a' * 100}!", "", " " * 100, ESCAPES.replace("\r", "")]
        ).ids
        vocab.decode(ids.flat)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        path.write_text(content)
        return outcome(use)


def answer_case(rng: random.Random) -> str:
    """Return the bytes, in Latin-1, with which a hub answers every request."""
    model = MODEL | {rng.choice(["id", "sha", "siblings", "private", "tags"]): rng.choice(ODD)}
    body = rng.choice(
        [
            "",
            "{",
            "[]",
            "null",
            "<html>",
            ESCAPES,
            json.dumps(model),
            json.dumps(MODEL),
            "[" * 5000,
        ]
    )
    lines = [f"HTTP/1.1 {rng.choice(STATUSES)}"]
    places = (
        "/",
        "http://127.0.0.1:1/",
        "//x:99999",
        "http://[",
        ESCAPES.replace("\u202e", ""),
        "/api/models/me/x",
    )
    headers: tuple[str, ...] = (
        f"Content-Length: {rng.choice([-5, len(body), 10**20, 'x'])}",
        f"Location: {rng.choice(places)}",
    )
    headers += (
        "Content-Encoding: gzip",
        "Retry-After: 1",
        "X-Repo-Commit: ../../x",
        "ETag: ../x",
        "Transfer-Encoding: x",
    )
    lines += rng.sample(headers, rng.randint(0, 3))
    return (
        "\r\n".join([*lines, "Connection: close", "", body])
        .encode("latin-1", "replace")
        .decode("latin-1")
    )


def ask_hub(data: str) -> str:
    """Return what is wrong with how a checkpoint is fetched from a hub that answers so."""
    hub._SILENCE = 1.0
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = server.accept()[0]
                with connection, contextlib.suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(data.encode("latin-1"))

    threading.Thread(target=serve, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, server:
        constants.ENDPOINT = f"http://127.0.0.1:{server.getsockname()[1]}"
        constants.HF_HUB_CACHE = folder
        constants.HF_HUB_OFFLINE = False
        return outcome(lambda: download("me/x", ["*.json"]))
