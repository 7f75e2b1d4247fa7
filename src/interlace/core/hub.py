"""Access to the Hugging Face hub: without a network its libraries retry for minutes; here they use their caches."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import StringIO
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from interlace.core.errors import InterlaceError, SettingsError

TIMEOUT = 3.0  # seconds, for each address of the server
# seconds without a byte of an answer, for requests without a limit of their own
_SILENCE = 30.0


class UnexpectedAnswerError(ConnectionError):
    """What answers is no hub, or breaks off; the message says what it did and at which address."""


def is_reachable(address: str) -> bool:
    """Return whether a server accepts connections; true if a proxy, behind which it may be, is set for its address.

    Raise a SettingsError if it is no address of a server.
    """
    server = _server(address)
    if {server.scheme, "all"} & getproxies().keys() and not proxy_bypass(server.hostname or ""):
        return True
    try:
        port = server.port or (80 if server.scheme == "http" else 443)
        socket.create_connection((server.hostname, port), TIMEOUT).close()
    except OSError:
        return False
    return True


def failure(error: BaseException) -> str:
    """Return what a failed request to the hub means and what to do about it, as a part of a message."""
    from huggingface_hub import constants

    if isinstance(error, UnexpectedAnswerError):
        return str(error)
    status = status_of(error)
    reason = " ".join(str(error).split()).rstrip(".")
    if status is None:
        sentence = reason.partition(". ")[0]
        return f"the hub cannot be reached: {sentence} ({constants.ENDPOINT})"
    remedy = ""
    if status in {401, 403}:
        remedy = ". The token needs access: `hf auth login`"
    elif status == 429 or status >= 500:
        remedy = ". Run the same command again later"
    return f"the hub answers: {reason}{remedy}"


def status_of(error: BaseException | None) -> int | None:
    """Return the HTTP status of the answer that led to an error; None if there was no answer."""
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status is not None:
            return int(status)
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def hub_errors() -> Iterator[None]:
    """Within the context, requests have time limits, and errors of HTTP and of unexpected answers become one class."""
    from huggingface_hub import constants

    _limit_requests()
    try:
        yield
    except Exception as error:
        from_http = type(error).__module__.partition(".")[0] in {"httpx", "httpx2", "requests"}
        is_closed = isinstance(error, RuntimeError) and "client has been closed" in str(error)
        is_malformed = isinstance(
            error, LookupError | TypeError | AttributeError | RecursionError
        )
        if isinstance(error, InterlaceError) or not (from_http or is_closed or is_malformed):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
        message = f"{constants.ENDPOINT} does not answer as a hub does ({reason}); check HF_ENDPOINT and the proxy"
        raise UnexpectedAnswerError(message) from error


@cache
def _limit_requests() -> None:
    """Set time limits of requests, once: this closes the client that other threads may use."""
    import huggingface_hub

    default_client = huggingface_hub.get_session()
    hooks = default_client.event_hooks
    limited_hooks = {**hooks, "request": [*hooks["request"], _limit_silence]}

    def limited_client() -> Any:
        return type(default_client)(event_hooks=limited_hooks, follow_redirects=True)

    huggingface_hub.set_client_factory(limited_client)


def _limit_silence(request: Any) -> None:
    limits = request.extensions.get("timeout") or {}
    names = ("connect", "read", "write", "pool")
    request.extensions["timeout"] = {name: limits.get(name) or _SILENCE for name in names}


def download_bar(name: str) -> Any:
    """Return a class with the interface of tqdm for downloads of a repository, which are reported as ours in MB."""
    from tqdm import tqdm

    from interlace.core.progress import current_progress

    progress = current_progress()  # here: downloads are in other threads

    class DownloadBar(tqdm):  # type: ignore[misc]  # it has no types
        """A bar that is not drawn; those of numbers of files are not reported."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "file": StringIO()})

        def display(self, *_: Any, **__: Any) -> None:
            if self.unit == "B" and self.total:
                progress(f"downloading {name} (MB)", int(self.n / 1e6), int(self.total / 1e6))

    return DownloadBar


def check_variables() -> None:
    """Raise a SettingsError for environment variables that make `huggingface_hub` fail when it is imported."""
    address = os.environ.get("HF_ENDPOINT")
    if address:
        _server(address)
    for name in ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"):
        value = os.environ.get(name)
        if value and not value.isdecimal():
            raise SettingsError(f"{name}: {value!r}, expected a number of seconds")


def _server(address: str) -> SplitResult:
    """Return the parts of the address of a server; raise a SettingsError if it is none."""
    try:
        server = urlsplit(address)
        (server.hostname or "").encode("idna")
        is_server = (
            server.scheme in {"http", "https"} and bool(server.hostname) and server.port != 0
        )
    except ValueError:  # of the port, an IPv6 address or the name of the server
        is_server = False
    if not is_server:
        raise SettingsError(
            f"HF_ENDPOINT: {address!r} is no address of a server, such as https://huggingface.co"
        )
    return server


@contextmanager
def hub_or_cache() -> Iterator[None]:
    """Within the context, `huggingface_hub` and `datasets` use only their caches if the hub cannot be reached.

    Their settings hold for the process: other threads see them too.
    """
    from huggingface_hub import constants

    modules: list[Any] = [constants]
    if "datasets" in sys.modules:
        modules.append(sys.modules["datasets"].config)
    before = [module.HF_HUB_OFFLINE for module in modules]
    if not constants.HF_HUB_OFFLINE and not is_reachable(constants.ENDPOINT):
        for module in modules:
            module.HF_HUB_OFFLINE = True
    try:
        with hub_errors():
            yield
    finally:
        for module, value in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = value
