"""Parts of a text, and files made of them that go on where they were stopped."""

import tracemalloc

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.translation import LineRange, Shard, resumable


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


class Many(LineRange):
    """Lines that stand nowhere."""

    def __iter__(self):
        return (f"line {number} " + "x" * 80 for number in range(self.first, self.last))


def test_skipping_finished_lines_needs_little_memory(tmp_path):
    """Where the lines were held, it would be 30 MB of them."""
    (tmp_path / "source").write_text("x")
    many = Many(tmp_path / "source", 0, 200_001)

    def stopped():
        with resumable(many, tmp_path / "into", {}) as result:
            result.write([next(result.lines) for _ in range(200_000)], ["y"], {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    tracemalloc.start()
    with resumable(many, tmp_path / "into", {}) as result:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert result.done == 200_000
        assert list(result.lines) == list(many)[-1:]
    assert peak < 8_000_000


def test_early_failure_leaves_no_files(tmp_path):
    text = Many(tmp_path / "source", 0, 3)

    def stopped(lines):
        with resumable(text, tmp_path / "into", {}) as result:
            if lines:
                result.write(lines, lines, {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped([])
    assert not list(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        stopped(["x"])
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(DataError, match=r"into: .*file is not a folder"),
        resumable(Many(tmp_path / "source", 0, 3), tmp_path / "file" / "into", {}),
    ):
        pass
