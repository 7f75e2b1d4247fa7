from __future__ import annotations

import gc

from interlace.tasks._kept import Kept


class Thing:
    """Equal to all others, and without a hash."""

    __hash__ = None

    def __eq__(self, other):
        return True


def test_results_belong_to_an_object_and_a_key():
    kept, one, other = Kept(), Thing(), Thing()
    assert kept.of(one, "a", lambda: 1) == 1
    assert kept.of(one, "a", lambda: 2) == 1
    assert kept.of(one, "b", lambda: 3) == 3
    assert kept.of(other, "a", lambda: 4) == 4


def test_results_go_with_their_object():
    kept, thing = Kept(), Thing()
    kept.of(thing, "a", lambda: 1)
    del thing
    gc.collect()
    assert not kept._known
