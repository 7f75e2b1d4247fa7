"""`interlace code-switch`: what it writes, what it says of it, and what it refuses."""

import re
from functools import partial

import pytest

from command_line import command
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import read_lines, write_lines

run = partial(command, "code-switch")

SOURCE = [
    "the old man sees a red house today",
    "we met Maria in Berlin last week",
    "yes",
    "a b c d e f g h",
]
GERMAN = ("der alte Mann sieht heute ein rotes Haus", "wir trafen Maria letzte Woche in Berlin")
TARGET = [*GERMAN, "ja", "A B C D E F G H"]
LINKS = [
    "0-0 1-1 2-2 3-3 4-5 5-6 6-7 7-4",
    "0-0 1-1 2-2 3-5 4-6 5-3 6-4",
    "0-0",
    " ".join(f"{i}-{i}" for i in range(8)),
]


@pytest.fixture
def text(tmp_path):
    """Text, its translation and links, as files."""
    for name, lines in (("a.en", SOURCE), ("a.de", TARGET), ("a.links", LINKS)):
        write_lines(tmp_path / name, lines)
    return [tmp_path / name for name in ("a.en", "a.de", "a.links")]


def test_lines_mix_a_fraction_of_source_and_target(text):
    done = run(*text, "--set", "monolingual=0")
    lines = done.stdout.split("\n")[:-1]
    assert done.exit_code == 0
    assert len(set(lines)) == len(lines) > 20
    pairs = [{*f"{one} {other}".split()} for one, other in zip(SOURCE, TARGET, strict=True)]
    for line in lines:
        assert any({*line.split()} <= words for words in pairs)
        assert line not in {*SOURCE, *TARGET}
    assert any(line.startswith("der alte Mann sees") for line in lines)
    # one word: less than 30 % of it is none
    assert not any("yes" in line or "ja" in line.split() for line in lines)
    assert (
        run(*text, "--set", "switch_fraction=0.125", "--set", "monolingual=0").stdout.count(
            "\n"
        )
        == 0
    )


def test_counts_of_lines_and_distinct_mixed_lines_are_on_standard_error(text):
    into = text[0].parent / "out.txt"
    done = run(*text, "--output", into, "--set", "monolingual=0")
    count = len(list(read_lines(into)))
    assert f"{count} lines of 4 pairs" in done.stderr
    _, _, histogram = done.stderr.partition("distinct mixed lines: ")
    cells = re.findall(r"(\d+): (\d+)", histogram)
    assert cells[0] == ("0", "1")  # nothing is replaced in the pair of one word
    assert sum(int(pairs) for _, pairs in cells) == 4
    assert sum(int(lines) * int(pairs) for lines, pairs in cells) == count


def test_rejects_invalid_options(text):
    with pytest.raises(SettingsError, match=r"switch_fraction: expected a share"):
        run(*text, "--set", "switch_fraction=1.5")
    with pytest.raises(SettingsError, match="monolingual"):
        run(*text, "--set", "monolingual=0.5")
    with pytest.raises(SettingsError, match="did you mean 'copies'"):
        run(*text, "--set", "copys=2")
    write_lines(text[2], LINKS[:2])
    with pytest.raises(DataError):
        run(*text)
