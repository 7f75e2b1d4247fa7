"""`scores.json` while it is added to: rows by task, seed, setting and language, each under what it depends on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from interlace.core.errors import RunError
from interlace.training.run_folder import SCORES, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from interlace.training.evaluation_job import Score

log = logging.getLogger(__name__)

Place = tuple[Any, ...]  # task, seed, setting, language


class Scorebook:
    """The rows of a folder; every change is written at once.

    asked: the places that a caller wants in the end, in order.
    """

    def __init__(
        self,
        folder: Path,
        written: Callable[[], None] = lambda: None,
        *,
        writes: bool = True,
        model: str | None = None,
        model_key: str = "",
    ) -> None:
        """Read what is there; scores of a model of that name that was another then are dropped.

        Args:
            folder: holds `scores.json`, or will.
            written: called after each writing.
            writes: False for processes that only keep count.
            model: what the checkpoint is called that is scored; None: the run that the folder is of.
            model_key: names what it holds.

        Raises:
            RunError: what is there are no scores, or those of another checkpoint.
        """
        self._path = folder / SCORES
        self._written = written
        self._writes = writes
        self._about = {"model_key": model_key} | ({"model": model} if model else {})
        rows = _checked(read_json(self._path, []), self._path)
        self._rows = [row for row in rows if row.get("model_key", model_key) == model_key]
        stale = [row for row in rows if row.get("model_key", model_key) != model_key]
        if others := {row["model"] for row in stale if row.get("model") not in {None, model}} if model else set():
            message = f"{folder}: holds scores of {' and '.join(map(repr, sorted(others)))}, not of {model!r}"
            raise RunError(f"{message}; choose another folder with --into, or remove {self._path}")
        if stale:
            log.warning("%s: scores (%d) of the model as it was before make way", folder, len(stale))
        self.asked: list[Place] = []

    def holds(self, places: Sequence[Place], key: str, files: str = "") -> bool:
        """Whether there is a row under this key at every place, of files that hold the same; "" where nobody knows."""
        there = {
            place_of(row)
            for row in self._rows
            if row.get("key") == key and (not files or row.get("files", files) in {files, ""})
        }
        return set(places) <= there

    def drop(self, task: str, keys: Collection[str]) -> None:
        """Forget the rows of a task under other keys; it is written with the next row."""
        kept = [row for row in self._rows if row["task"] != task or row.get("key") in keys]
        if dropped := len(self._rows) - len(kept):
            log.warning(
                "%s: scores (%d) under other settings or of other targets make way; to keep both, give one a "
                "table of its own, [evaluate.tasks.NAME] with task = %r",
                task, dropped, task,
            )  # fmt: skip
        self._rows = kept

    def put(self, places: Collection[Place], key: str, rows: Sequence[Score], files: str = "", under: str = "") -> None:
        """Take rows in, in place of what stood at these places; `under`: their conditions."""
        others = [row for row in self._rows if place_of(row) not in places]
        self._rows = others + [{**row, **self._about, "key": key, "files": files, "conditions": under} for row in rows]
        self._write()

    def tell(self, places: Collection[Place], conditions: str) -> None:
        """Write into rows of before they were told under which conditions they were scored, but for the model."""
        self._change({**row, "conditions": conditions} if place_of(row) in places else row for row in self._rows)

    def add(self, facts: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
        """Write facts about the test text of a task and language into its rows; translated text is another text."""
        self._change(
            row if row.get("setting") == "translate-test" else {**row, **facts.get((row["task"], row["language"]), {})}
            for row in self._rows
        )

    def rows_asked(self) -> list[Score]:
        """The rows at the places asked for."""
        wanted = set(self.asked)
        return [row for row in self._rows if place_of(row) in wanted]

    def _change(self, rows: Iterable[Score]) -> None:
        """Take these in the place of all, and write only what is news."""
        before, self._rows = self._rows, list(rows)
        if self._rows != before:
            self._write()

    def _write(self) -> None:
        if self._writes:
            write_json(self._path, self._rows)
            self._written()


def _checked(rows: Any, path: Path) -> list[Score]:
    """The rows of a file, as far as they are kept and replaced by what they say."""
    if not isinstance(rows, list):
        raise RunError(f"{path}: damaged: a list of scores is expected; move it away to score anew")
    for number, row in enumerate(rows, 1):
        missing = [key for key in ("task", "seed", "language") if not isinstance(row, dict) or key not in row]
        if missing:
            raise RunError(f"{path}: damaged: entry {number} lacks {', '.join(missing)}; move it away to score anew")
    return rows


def place_of(row: Score) -> Place:
    """What a row is about."""
    return (row["task"], row["seed"], row.get("setting", "zero-shot"), row["language"])
