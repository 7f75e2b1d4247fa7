"""Calls in a child process that are lost: by a crash, an endless loop, memory, an error."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlace.core.guarded import GuardedFunction


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
        case "sleep":
            time.sleep(600)
        case "stop once" if not Path(number).exists():
            Path(number).touch()
            resume = (
                f"import os, signal, time; time.sleep(2); os.kill({os.getpid()}, signal.SIGCONT)"
            )
            subprocess.Popen([sys.executable, "-c", resume])
            os.kill(os.getpid(), signal.SIGSTOP)
        case "print":
            os.write(1, b'"printed"\n')
    return [number, "\ud800\n\x1b"]


def call(function, *arguments):
    return next(function.map([arguments]))


@pytest.fixture(scope="module")
def guarded():
    with GuardedFunction(behave) as function:
        yield function


@pytest.mark.parametrize("how", ["crash", "exit", "loop", "memory", "recursion"])
def test_a_lost_call_ends_and_the_next_one_has_a_result(guarded, how):
    assert call(guarded, how, 1) is None
    assert call(guarded, "print", 2) == [2, "\ud800\n\x1b"]


def test_the_child_process_ends_with_the_context():
    with GuardedFunction(behave) as function:
        call(function, "", 1)
        child = function._child
    assert child.returncode is not None


def test_a_long_wait_is_not_taken_for_computing(guarded):
    call(guarded, "", 1)
    time.sleep(2.5)
    assert call(guarded, "", 2)[0] == 2


def test_a_function_that_only_waits_is_ended():
    with GuardedFunction(behave, seconds=0.02) as function:
        started = time.perf_counter()
        assert call(function, "sleep", 1) is None
        assert time.perf_counter() - started < 30
        assert call(function, "", 2)[0] == 2


def test_a_call_is_not_lost_because_the_job_was_stopped(tmp_path):
    marker = str(tmp_path / "stopped")
    with GuardedFunction(behave, seconds=0.02) as function:
        assert call(function, "stop once", marker)[0] == marker


def test_each_of_many_calls_has_its_result_or_none(guarded):
    numbers = range(250)
    ways = {0: "crash", 7: "exit", 8: "recursion", 249: "crash"}
    calls = [(ways.get(number, ""), number) for number in numbers]
    results = [result and result[0] for result in guarded.map(calls)]
    assert results == [None if number in ways else number for number in numbers]


def test_calls_are_sent_before_all_arguments_are_known(guarded):
    sent = []

    def calls():
        for number in range(1000):
            sent.append(number)
            yield "", "x" * 100_000

    results = guarded.map(calls())
    next(results)
    assert len(sent) < 50
    results.close()
    assert call(guarded, "", 2)[0] == 2


def test_modules_that_a_system_lacks_are_not_needed():
    check = "import sys; sys.modules['resource'] = None; import interlace.core.guarded, interlace.training.device"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_without_timers_of_signals_the_clock_limits_a_call(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    without_timers = f"""
import signal, sys
from {behave.__module__} import behave
from interlace.core import guarded
del signal.setitimer, signal.SIGALRM
sys.modules["resource"] = None
guarded.serve(behave, 0.02)
"""
    requests = '["", 1]\n\n["loop", 2]\n\n["", 3]\n\n'
    command = [sys.executable, "-c", without_timers]
    done = subprocess.run(command, input=requests, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("ready\n[1, ")
    assert done.stdout.count("\n") == 2
