"""Parts of a text."""

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.translation import Shard


def test_parses_shard_numbers(tmp_path):
    assert Shard.read("2/4") == Shard(2, 4)
    for said in ("0/4", "5/4", "1/0", "1", "a/b", "-1/2", "1/2/3", "", "1 / 2"):
        with pytest.raises(SettingsError, match=r"--shard '.*': expected I/N, .*such as 1/4"):
            Shard.read(said)
    (tmp_path / "a").write_text("x\ny")
    with pytest.raises(DataError, match=r"a: 2 lines are too few for 3 shards"):
        Shard(1, 3).lines_of(tmp_path / "a")
    (tmp_path / "a").write_text("")
    with pytest.raises(DataError, match=r"a: the file is empty"):
        Shard(1, 2).lines_of(tmp_path / "a")
    assert list(Shard(1, 1).lines_of(tmp_path / "a")) == []
