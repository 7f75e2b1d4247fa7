"""The hub without a network: caches are used at once."""

import contextlib
import re
import socket
import threading
import time

import pytest
from huggingface_hub import constants

from interlace.core import hub
from interlace.core.errors import DataError, SettingsError
from interlace.core.progress import reporting
from interlace.data.tokenizer_files import download


@pytest.fixture
def unreachable(monkeypatch):
    """An address on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.setattr(hub, "getproxies", dict)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_a_hub_that_cannot_be_reached_is_not_retried(unreachable, monkeypatch, tmp_path):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with hub.hub_or_cache():
        assert constants.HF_HUB_OFFLINE
    assert not constants.HF_HUB_OFFLINE
    with pytest.raises(
        DataError, match=r"cannot be reached.*hf download me/x --local-dir FOLDER"
    ):
        download("me/x", ["*.json"])


def test_a_hub_that_listens_or_is_behind_a_proxy_is_reachable(unreachable, monkeypatch):
    assert not hub.is_reachable(constants.ENDPOINT)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert hub.is_reachable(f"http://127.0.0.1:{server.getsockname()[1]}")
    monkeypatch.setattr(hub, "getproxies", lambda: {"http": "http://proxy"})
    assert hub.is_reachable(constants.ENDPOINT)


def answer(status, body=b"", *headers):
    """Return a function that answers each request."""
    length = f"Content-Length: {len(body)}"
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, length, "Connection: close", "", ""])

    def send(connection):
        connection.recv(65536)
        connection.sendall(head.encode() + body)

    return send


@pytest.fixture
def hub_that(monkeypatch, tmp_path):
    """A function that starts a server, whose connections another function serves, in place of the hub."""
    servers = []

    def start(serve):
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def run():
            with contextlib.suppress(OSError):
                while True:
                    connection = server.accept()[0]
                    with connection, contextlib.suppress(OSError):
                        serve(connection)

        threading.Thread(target=run, daemon=True).start()
        monkeypatch.setattr(
            constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}"
        )

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(hub, "_SILENCE", 1.0)
    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    "serve",
    [
        lambda connection: time.sleep(5),
        lambda connection: None,
        lambda connection: connection.sendall(b"\x1b[2J\r\n\r\n"),
        answer("302 Found", b"", "Location: /api/models/me/x/revision/main"),
        answer("302 Found", b"", "Location: http://[::bad:99999/"),
        answer("200 OK", b"[]"),
        answer("200 OK", b"[" * 5000),
        answer("200 OK", b"xx", "Content-Encoding: gzip"),
        answer("200 OK", b'{"id": "me/x", "siblings": [{"x": 1}]}'),
    ],
)
def test_what_is_no_hub_is_an_error_that_names_repository_and_address(hub_that, serve):
    hub_that(serve)
    begun = time.monotonic()
    with pytest.raises(
        DataError, match=r"^'me/x': .*(does not answer as a hub does|cannot be reached)"
    ) as caught:
        download("me/x", ["*.json"])
    assert time.monotonic() - begun < 30
    assert "http://127.0.0.1:" in str(caught.value)


@pytest.mark.parametrize("status", ["429 Too Many Requests", "500 X", "503 X"])
def test_a_hub_that_is_busy_or_at_fault_says_so(hub_that, status):
    hub_that(answer(status))
    with pytest.raises(DataError, match=r"^'me/x': .*the same command again"):
        download("me/x", ["*.json"])


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:99999", "http://[::1", "hub", "ftp://a.b", "https://"]
)
def test_an_endpoint_that_is_no_address_is_named(monkeypatch, address):
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(
        SettingsError, match=f"HF_ENDPOINT: '{re.escape(address)}' is no address"
    ):
        download("me/x", ["*.json"])


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HF_ENDPOINT", "http://[zz]"),
        ("HF_ENDPOINT", "http://127.0.0.1:abc"),
        ("HF_ENDPOINT", "http://a..b"),
        ("HF_HUB_DOWNLOAD_TIMEOUT", "abc"),
        ("HF_HUB_ETAG_TIMEOUT", "-1"),
    ],
)
def test_variables_that_the_hubs_library_cannot_read_are_named(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=variable):
        hub.check_variables()


def test_downloads_are_reported_in_megabytes_and_draw_no_bars_of_their_own(capsys):
    reports = []
    with reporting(lambda *report: reports.append(report)):
        bar_class = hub.download_bar("me/x")
    with bar_class(total=0, unit="B", unit_scale=True, desc="Reconstructing") as bar:
        bar.total += 5_000_000  # grows while sizes become known
        bar.update(2_000_000)
        bar.refresh()
    for _ in bar_class(range(3), desc="Fetching 3 files"):
        pass
    assert set(reports) == {("downloading me/x (MB)", 2, 5)}
    assert capsys.readouterr() == ("", "")
