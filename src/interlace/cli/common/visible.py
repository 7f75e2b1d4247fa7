"""Show what data, file names and libraries say on the terminal without its control characters."""

import logging
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from interlace.core.display import block, message, visible


class VisibleConsole(Console):
    """A console that prints control characters of text as escapes; those of rich itself, such as colors, work."""

    def render_str(self, text: str, **kwargs: Any) -> Text:
        """Return visible text, before its width is measured."""
        return super().render_str(visible(text), **kwargs)

    def render(self, *args: Any, **kwargs: Any) -> Iterator[Segment]:
        """Yield the segments of what is printed, with visible text."""
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


class VisibleRecord(logging.LogRecord):
    """A line of the log, of any library, that cannot control the terminal or pass for several lines."""

    def getMessage(self) -> str:  # noqa: N802 - the name in `logging`
        """Return the message as it may be shown."""
        return block(message(super().getMessage()))
