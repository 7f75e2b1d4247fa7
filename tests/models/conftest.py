"""A vocabulary small enough to read."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from interlace.data.vocab import Origin


@dataclass
class Numbers:
    """What a backbone asks of a vocabulary; its file is a stand-in for a tokenizer's."""

    size: int = 40
    pad: int = 1
    begin: int = 0
    end: int = 2
    changed: Origin | None = None

    @property
    def origin(self):
        return self.changed or Origin.of(self.size)

    def save_files(self, folder):
        (folder / "tokenizer.json").write_text(json.dumps({"size": self.size}))


@pytest.fixture
def vocab():
    return Numbers()
