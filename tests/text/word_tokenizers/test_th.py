from __future__ import annotations

import pytest

pytest.importorskip("pythainlp")

from interlace.text.word_tokenizers.th import Th


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("หมออ่านจดหมายสามฉบับ", ["หมอ", "อ่าน", "จดหมาย", "สาม", "ฉบับ"]),
        ("เขากิน café ที่ Москва", ["เขา", "กิน", "café", "ที่", "Москва"]),
        ("ราคา 1,234.5 บาท", ["ราคา", "1,234.5", "บาท"]),
        ("नमस्ते\x85ไทย ", ["नमस्ते", "ไทย"]),
    ],
)
def test_words(line, found):
    (row,) = Th().split([line])
    assert [line[start:end] for start, end in row] == found
