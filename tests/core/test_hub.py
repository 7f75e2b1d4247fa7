"""The hub without a network: caches are used at once."""

import socket

import pytest
from huggingface_hub import constants

from interlace.core import hub
from interlace.core.errors import DataError
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
    with pytest.raises(DataError, match=r"cannot be reached.*hf download me/x --local-dir FOLDER"):
        download("me/x", ["*.json"])


def test_a_hub_that_listens_or_is_behind_a_proxy_is_reachable(unreachable, monkeypatch):
    assert not hub.is_reachable(constants.ENDPOINT)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert hub.is_reachable(f"http://127.0.0.1:{server.getsockname()[1]}")
    monkeypatch.setattr(hub, "getproxies", lambda: {"http": "http://proxy"})
    assert hub.is_reachable(constants.ENDPOINT)
