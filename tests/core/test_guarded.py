"""Calls in a child process that are lost: by a crash, an endless loop, memory, an error."""

import ctypes
import os
import time

import pytest

from interlace.core.guarded import GuardedFunction, LostCallError


def behave(how, number):
    """What a library may do."""
    match how:
        case "crash":
            ctypes.string_at(0)
        case "exit":
            os._exit(0)
        case "loop":
            while True:
                pass
        case "memory":
            return len(bytes(8 << 30))
        case "recursion":
            return behave(how, number)
        case "print":
            os.write(1, b'"printed"\n')
    return [number, "\ud800\n\x1b"]


@pytest.fixture(scope="module")
def guarded():
    with GuardedFunction(behave) as function:
        yield function


@pytest.mark.parametrize("how", ["crash", "exit", "loop", "memory", "recursion"])
def test_a_lost_call_ends_and_the_next_one_has_a_result(guarded, how):
    with pytest.raises(LostCallError):
        guarded(how, 1)
    assert guarded("", 2) == [2, "\ud800\n\x1b"]


def test_what_the_function_prints_is_no_result(guarded):
    assert guarded("print", 3) == [3, "\ud800\n\x1b"]


def test_the_child_process_ends_with_the_context():
    with GuardedFunction(behave) as function:
        function("", 1)
        child = function._child
    assert child.returncode is not None


def test_a_long_wait_is_not_taken_for_computing(guarded):
    guarded("", 1)
    time.sleep(2.5)
    assert guarded("", 2)[0] == 2
