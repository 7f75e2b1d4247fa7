"""Ranges and random shares of the rows of a reader."""

import pytest

from interlace import readers
from interlace.core.errors import DataError
from interlace.readers import RowSubset


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"a.{language}" for language in ("en", "de")]
    for path in paths:
        path.write_text(
            "".join(f"{path.suffix[1:]} {row}\n" for row in range(10_000)), encoding="utf-8"
        )
    return paths


def rows_of(part, paths, languages=("en",)):
    return [
        line for chunk in part.read_chunks(list(paths), list(languages)) for line in chunk.lines
    ]


def test_reads_a_range_of_rows(files):
    assert rows_of(RowSubset(rows="3:6"), files[:1]) == ["en 3", "en 4", "en 5"]
    assert rows_of(RowSubset(rows="9998:"), files[:1]) == ["en 9998", "en 9999"]


def test_shares_are_nested_and_near_their_size(files):
    sizes, before = [], set()
    for share in (0.05, 0.1, 0.3, 1.0):
        kept = rows_of(RowSubset(share=share), files[:1])
        assert before <= set(kept)
        before, sizes = set(kept), [*sizes, len(kept)]
    # 3 standard deviations of 10,000 draws
    assert sizes == pytest.approx([500, 1000, 3000, 10_000], abs=150)
    other = rows_of(RowSubset(share=0.1, seed=1), files[:1])
    assert other != rows_of(RowSubset(share=0.1), files[:1])


def test_line_aligned_files_keep_corresponding_rows(files):
    (pairs,) = RowSubset(share=0.01, rows="100:9000").read_chunks(files, ["en", "de"])
    alone = rows_of(RowSubset(share=0.01, rows="100:9000"), files[1:], ["de"])
    assert pairs.target.lines == alone
    assert [line.split()[1] for line in pairs.source.lines] == [
        line.split()[1] for line in alone
    ]


@pytest.mark.parametrize("size", [1, 7, 5000])
def test_rows_do_not_depend_on_chunks(files, monkeypatch, size):
    whole = rows_of(RowSubset(share=0.02, rows="50:4500"), files[:1])
    monkeypatch.setattr(readers, "CHUNK", size)
    assert rows_of(RowSubset(share=0.02, rows="50:4500"), files[:1]) == whole


def test_rejects_a_subset_without_rows(files):
    with pytest.raises(
        DataError, match=r"a\.en: rows '20000:', share 1 select none of its 10,000 rows"
    ):
        rows_of(RowSubset(rows="20000:"), files[:1])
