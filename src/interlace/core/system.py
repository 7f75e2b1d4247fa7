"""What differs between Linux, macOS and Windows; each function says what it does where a system lacks something."""

import errno
import os
import platform
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # flag of `os.open`: do not follow a symbolic link
_MANY_FILES = 65_536


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk; Windows cannot flush folders."""
    if hasattr(os, "O_DIRECTORY"):
        flags = os.O_RDONLY
    elif path.is_file():
        flags = os.O_RDWR  # Windows flushes only what is open for writing
    else:
        return
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    except OSError as error:
        # some file systems cannot sync folders
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(handle)


def host_key() -> str:
    """Return a hash of where a process number is unique: host and, on Linux, boot and namespace (of a container)."""
    parts = [platform.node()]
    with suppress(OSError):  # not Linux
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return blake2b("\n".join(parts).encode(), digest_size=4).hexdigest()


def raise_open_files_limit() -> None:
    """Let this process open up to 65,536 files, as far as the system allows; Windows has no such limit."""
    with suppress(ImportError, ValueError, OSError):  # macOS has a further limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = _MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, _MANY_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


def limit_memory(size: int) -> None:
    """Limit the address space of this process, in bytes, and write no core files; Windows cannot, and macOS may not."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def keep_freed_memory() -> None:
    """Let glibc keep the memory that is freed, where it is the C library.

    On a CPU, returning pages and faulting them in again takes 15 % of a training step.
    """
    if os.name != "posix":
        return
    import ctypes

    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def peak_resident_memory() -> int:
    """Return the peak of this process's resident memory in bytes."""
    try:
        import resource
    except ImportError:  # on Windows
        import psutil

        memory = psutil.Process().memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def processor_name() -> str:
    """Return the model of the processor; where Linux does not tell it, its architecture."""
    with suppress(OSError):
        processors = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model_name = re.search(r"^model name\s*: (.+)$", processors, re.MULTILINE)
        if model_name is not None:
            return model_name[1].strip()
    return platform.processor() or platform.machine()


def end_group(number: int, seconds: float) -> None:
    """Send a signal to this process, and to its group if it leads one; kill both if they run after some seconds.

    Windows has no groups: there this process ends alone.
    """
    if not hasattr(os, "killpg"):
        signal.raise_signal(number)
        time.sleep(seconds)
        os._exit(1)
    for sent in (number, signal.SIGKILL):
        if os.getpgrp() == os.getpid():
            os.killpg(0, sent)
        else:
            os.kill(os.getpid(), sent)
        time.sleep(seconds)


@cache
def commit() -> str:
    """Return the commit of the package, with `-dirty` after changes; "" if it is not installed from a checkout."""
    checkout = Path(__file__).resolve().parents[3]
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(  # noqa: S603
            command, cwd=checkout, capture_output=True, text=True, check=False
        )
    except OSError:  # git is not installed
        return ""
    return done.stdout.strip()
