"""Artifacts: built once, after what they need, and again when something that they depend on changes."""

import pytest

from interlace.data.artifacts import Artifact, in_order
from interlace.data.cache import content_key


class Copy(Artifact[str]):
    """The text of a file, or of another copy, with a prefix."""

    kind = "copy"

    def __init__(self, source, prefix="", builds=None):
        self.source = source
        self.prefix = prefix
        self.builds = [] if builds is None else builds

    def __str__(self):
        return "a copy"

    @property
    def key(self):
        source = self.source.id if isinstance(self.source, Copy) else content_key(self.source)
        return {"source": source, "prefix": self.prefix}

    def needs(self):
        return (self.source,) if isinstance(self.source, Copy) else ()

    def build(self, folder):
        text = self.source.get() if isinstance(self.source, Copy) else self.source.read_text()
        self.builds.append(self.prefix)
        (folder / "text").write_text(self.prefix + text)

    def open(self, folder):
        return (folder / "text").read_text()


@pytest.fixture
def text(tmp_path, own_cache):
    (tmp_path / "text").write_text("one")
    return tmp_path / "text"


def test_an_artifact_is_built_once_from_what_it_needs(text):
    builds = []
    first = Copy(text, "first ", builds)
    second = Copy(first, "second ", builds)
    assert not second.is_built
    assert second.get() == Copy(first, "second ", builds).get() == "second first one"
    assert builds == ["first ", "second "]
    second.remove()
    assert (first.is_built, second.is_built) == (True, False)


def test_a_change_of_an_input_builds_again_and_the_log_says_which(text, caplog):
    caplog.set_level("INFO", "interlace")
    assert Copy(text).get() == "one"
    text.write_text("another")
    assert Copy(text).get() == "another"
    assert Copy(text, "new: ").get() == "new: another"
    assert caplog.messages == [
        "building a copy",
        "building a copy (changed: source)",
        "building a copy (changed: prefix)",
    ]


def test_artifacts_are_ordered_by_their_needs(text):
    first = Copy(text, "first")
    left, right = Copy(first, "left"), Copy(first, "right")
    top = Copy(right, "top")
    assert in_order([top, left, right]) == [first, right, top, left]
    assert len(in_order([left, Copy(first, "left")])) == 2  # equal artifacts are one
