"""A vocabulary small enough to read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from interlace.data.vocab import Origin


@dataclass
class Numbers:
    """What a backbone asks of a vocabulary; its file is a stand-in for a tokenizer's."""

    size: int = 40
    pad: int = 1
    begin: int = 0
    end: int = 2
    origin: Origin = field(default_factory=lambda: Origin.of(40))

    def save_files(self, folder):
        (folder / "tokenizer.json").write_text(json.dumps({"size": self.size}))


@pytest.fixture
def vocab():
    return Numbers()
