"""What is worked out once for an object and needed again: kept as long as the object lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Kept:
    """Results by object and key. Objects are told apart by identity, so they need no hash; they must not change."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, dict[Hashable, Any]]] = {}

    def of(self, thing: Any, key: Hashable, make: Callable[[], Any]) -> Any:
        """The result of `make`, which is called where nothing is kept."""
        number = id(thing)
        if number not in self._known:
            self._known[number] = (ref(thing, lambda _: self._known.pop(number, None)), {})
        results = self._known[number][1]
        if key not in results:
            results[key] = make()
        return results[key]
