"""Every entry of every registry says what it is, and its settings are described and can be stored."""

import pytest

from interlace.aligners import ALIGNERS
from interlace.core.errors import SettingsError
from interlace.derived import TRANSFORMATIONS
from interlace.embeddings import EMBEDDING_METHODS
from interlace.objectives import OBJECTIVES
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
