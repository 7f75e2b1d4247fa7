"""A system that lacks what Windows lacks; run as a script, its arguments are a folder and command lines to run there.

Only interlace's own modules lack something: other packages find out for themselves what a system has. A file that is
open or mapped can be neither replaced nor removed, nor can a folder with one.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MISSING_MODULES = {"fcntl", "grp", "posix", "pwd", "resource", "syslog", "termios", "tty"}
MISSING_NAMES = {
    "os": """
        O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC chown confstr fchdir fchmod fchown fork
        forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getsid
        getuid kill killpg lchown lockf mkfifo mknod nice openpty posix_fadvise posix_spawn pread
        preadv pwrite pwritev register_at_fork sched_getaffinity sched_yield sendfile setpgid setsid
        statvfs sync sysconf ttyname uname wait waitid waitpid
    """,
    "signal": """
        ITIMER_PROF ITIMER_REAL SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP
        SIGUSR1 SIGUSR2 alarm getitimer pause pthread_kill setitimer siginterrupt sigwait
    """,
}


def install() -> None:
    """Take from interlace's modules what they may not find on every system."""
    modules = {name: _without(name, names.split()) for name, names in MISSING_NAMES.items()}
    modules["os"].__dict__["name"] = "nt"
    find = builtins.__import__

    def find_for(name: str, *arguments: Any, **options: Any) -> Any:
        variables = arguments[0] if arguments else None  # of the importing module
        if variables and _is_ours(variables.get("__name__", "")):
            if name in MISSING_MODULES:
                message = f"no module {name} on this system"
                raise ImportError(message, name=name)
            if name in modules:
                return modules[name]
        return find(name, *arguments, **options)

    builtins.__import__ = find_for
    ctypes.CDLL = _Library  # type: ignore[misc]
    sys.addaudithook(_refuse_proc)
    for module in (os, modules["os"]):
        for name in ("replace", "rename", "rmdir", "unlink"):
            setattr(module, name, _refusing_open_files(getattr(os, name)))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "interlace"


def _we_call() -> bool:
    """Return whether one of our modules calls the function that calls this one, itself or by `pathlib`."""
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] == "pathlib":
        frame = frame.f_back
    return _is_ours(frame.f_globals["__name__"])


def _without(name: str, missing: list[str]) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(vars(import_module(name)))
    for attribute in missing:
        module.__dict__.pop(attribute, None)
    return module


class _Library(ctypes.CDLL):
    """A library of the system; there is none without a name."""

    def __init__(self, name: Any, *arguments: Any, **options: Any) -> None:
        if name is None and _we_call():
            message = "bad argument type for built-in operation"
            raise TypeError(message)
        super().__init__(name, *arguments, **options)


def _refuse_proc(event: str, arguments: Any) -> None:
    """Raise an error when a module of ours opens a file of `/proc`."""
    if event == "open" and str(arguments[0]).startswith("/proc/") and _we_call():
        raise FileNotFoundError(2, "No such file or directory", arguments[0])


def _refusing_open_files(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of paths that raises an error for those that this process has open."""

    def checked(*arguments: Any, **options: Any) -> Any:
        paths = [path for path in arguments if isinstance(path, str | os.PathLike)]
        for path in map(os.path.realpath, paths if _we_call() else ()):
            for open_path in _open_paths():
                if open_path == path or open_path.startswith(f"{path}/"):
                    raise PermissionError(13, "The process has this file open", open_path)
        return function(*arguments, **options)

    return checked


def _open_paths() -> set[str]:
    """Return the paths of the files that are open in this process, or mapped into its memory."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    paths = {f"/{line.partition('/')[2]}" for line in maps}
    for descriptor in Path("/proc/self/fd").iterdir():
        if descriptor.is_symlink():  # not the one by which the folder was read
            paths.add(str(descriptor.readlink()))
    return paths - {"/"}


def main() -> None:
    """Run the command lines, up to one that fails."""
    folder, *lines = sys.argv[1:]
    os.chdir(folder)
    install()
    from interlace.__main__ import exit_code
    from interlace.cli import run_command

    for line in lines:
        try:
            code = run_command(line.split())
        except Exception as error:
            code = exit_code(error)
            if code is None:
                raise
        if code:
            sys.exit(f"{line}: exit code {code}")


if __name__ == "__main__":
    main()
