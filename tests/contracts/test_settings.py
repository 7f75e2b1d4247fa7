"""Every entry of every registry says what it is, and its settings are described and can be stored."""

import pytest

from interlace.aligners import ALIGNERS
from interlace.core.errors import SettingsError
from interlace.derived import TRANSFORMATIONS
from interlace.embeddings import EMBEDDING_METHODS
from interlace.models.settings import ModelSettings, Shape
from interlace.objectives import OBJECTIVES
from interlace.objectives.common.code_switching import CodeSwitching
from interlace.objectives.common.dictionaries import Dictionary
from interlace.objectives.common.masking import Masking
from interlace.readers import READERS
from interlace.tasks import TASKS

REGISTRIES = (ALIGNERS, EMBEDDING_METHODS, OBJECTIVES, READERS, TASKS, TRANSFORMATIONS)
ENTRIES = [(registry, name) for registry in REGISTRIES for name in registry.names()]


@pytest.mark.parametrize(("registry", "name"), ENTRIES)
def test_settings_are_described_and_survive_a_round_trip(registry, name):
    entry = registry.build(name)
    assert type(entry).read(entry.dump()) == entry
    assert [
        key for key, field in type(entry).model_fields.items() if not field.description
    ] == []
    assert registry.summary(name).endswith((".", "?", ")"))
    with pytest.raises(SettingsError, match="unknown key 'nonsense'"):
        registry.build({"name": name, "nonsense": 1})


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Masking, {"rate": 1.5}, r"rate: every value must lie in \[0, 1\]"),
        (Masking, {"mask_share": 0.9, "random_share": 0.2}, "must not exceed 1, found 1.1"),
        (CodeSwitching, {"switch_fraction": (0.5, 0.2)}, "ascending"),
        (CodeSwitching, {"source_share": 0.7, "target_share": 0.4}, "must not exceed 1"),
        (Dictionary, {"files": "dict/{from}.txt"}, "unknown placeholder {from}"),
        (Dictionary, {"files": "a", "vectors": "b"}, "files and vectors are both set"),
        (Shape, {"width": 10, "heads": 3}, "multiple of heads"),
        (Shape, {"family": "modernbert", "width": 9, "heads": 3}, "must be even"),
        (ModelSettings, {"start": "somewhere", "shape": {}}, "either 'start' or 'shape'"),
        (ModelSettings, {"start": "m", "vectors": "v"}, "either 'start' or 'vectors'"),
        (ModelSettings, {"vectors_spread": "own"}, "needs 'vectors'"),
        (ModelSettings, {"take": "none"}, "take = 'none' needs a 'start'"),
        (ModelSettings, {"decoder": {"take": "none"}}, "take = 'none' needs a 'start'"),
        (
            ModelSettings,
            {"vectors": "v", "decoder": {"start": "m"}},
            r"set decoder\.embeddings = 'own'",
        ),
        (
            ModelSettings,
            {"shape": {"family": "modernbert"}, "languages": "embeddings"},
            "modernbert",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_named(kind, settings, message):
    with pytest.raises(SettingsError, match=message):
        kind.read(settings, "section")
