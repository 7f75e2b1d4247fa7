"""Calls in a child process that have no result: by a crash, an endless loop, memory, an error."""

import ctypes
import os
import signal
import subprocess
import sys
import time

import pytest

from interlace.core.guarded import guarded_results


def behave(how):
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
            return behave(how)
        case "sleep":
            time.sleep(600)
        case "stop":
            resume = f"import os, signal, time; time.sleep(2); os.kill({os.getpid()}, signal.SIGCONT)"
            subprocess.Popen([sys.executable, "-c", resume])
            os.kill(os.getpid(), signal.SIGSTOP)
        case "print":
            os.write(1, b'"printed"\n')
    return [how, "\ud800\n\x1b"]


@pytest.mark.parametrize("how", ["crash", "exit", "loop", "memory", "recursion", "sleep"])
def test_results_end_before_the_call_that_has_none(how):
    started = time.perf_counter()
    results = guarded_results(behave, ["print", "", how, ""], seconds=0.1)
    assert results == [["print", "\ud800\n\x1b"], ["", "\ud800\n\x1b"]]
    assert time.perf_counter() - started < 60


def test_a_call_has_its_result_although_the_job_was_stopped():
    assert len(guarded_results(behave, ["stop", ""], seconds=0.1)) == 2


def test_modules_that_a_system_lacks_are_not_needed():
    check = "import sys; sys.modules['resource'] = None; import interlace.core.guarded"
    subprocess.run([sys.executable, "-c", check], check=True)
