"""Access to the Hugging Face hub: without a network its libraries retry for minutes; here they use their caches."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

TIMEOUT = 3.0  # seconds, for each address of the server


def is_reachable(address: str) -> bool:
    """Return whether a server accepts connections; true if a proxy, behind which it may be, is set for its address."""
    place = urlsplit(address)
    if {place.scheme, "all"} & getproxies().keys() and not proxy_bypass(place.hostname or ""):
        return True
    try:
        port = place.port or (80 if place.scheme == "http" else 443)
        socket.create_connection((place.hostname, port), TIMEOUT).close()
    except OSError:
        return False
    return True


def failure(error: BaseException, access: str = "access") -> str:
    """Return what a failed request to the hub means and what to do about it, as a part of a message.

    access: what a token needs.
    """
    response = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
    status = getattr(response, "status_code", None)
    if status is None:
        sentence = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
        return f"the hub cannot be reached: {sentence}"
    reason = " ".join(str(error).split()).rstrip(".")
    if status in {401, 403}:
        return f"the hub refuses it: {reason}. The token needs {access}: `hf auth login`"
    if status == 429:
        return f"the hub has had too many requests: {reason}. Wait some minutes and run the same command again"
    if status >= 500:
        return f"the hub has a fault of its own: {reason}. Run the same command again later"
    return f"the hub answers: {reason}"


@contextmanager
def hub_or_cache() -> Iterator[None]:
    """Within the context, `huggingface_hub` and `datasets` use only their caches if the hub cannot be reached.

    Their settings hold for the process: other threads see them too.
    """
    from huggingface_hub import constants

    settings = [constants, *([sys.modules["datasets"].config] if "datasets" in sys.modules else [])]
    before = [each.HF_HUB_OFFLINE for each in settings]
    offline = constants.HF_HUB_OFFLINE or not is_reachable(constants.ENDPOINT)
    for each in settings if offline else ():
        each.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for each, value in zip(settings, before, strict=True):
            each.HF_HUB_OFFLINE = value
