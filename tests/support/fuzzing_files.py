"""Corrupted files for the fuzz suite: members of archives, XML, links and special files, odd names, changing files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import threading
import time
from typing import TYPE_CHECKING

import pyarrow as pa

from fuzzing import BYTES, NAMES, Case, digests, faults_of, invoke

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

COMMANDS = (
    "check {text} --languages en",
    "check {text} {pairs} --languages en,de",
    "align {text} {pairs} -o {out}/links --confidence {out}/sure --save-model {out}/aligner",
    "lexicon {text} {pairs} -o {out}/lexicon",
    "phrases {text} {pairs} -o {out}/phrases.gz",
    "code-switch {text} {pairs} --set copies=2 -o {out}/mixed",
    "derive {text} --transformations invert --reader lines --language en -o {out}/derived",
    "vocab {text} --size 300 -o {out}/vocab",
)
XML_COMMAND = "check {text} --reader tmx --languages en"
UNIT = '<tmx><body><tu><tuv xml:lang="en"><seg>a &amp; cat</seg></tuv></tu></body></tmx>'
DECLARATIONS = (
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
    '<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]>',
    '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd">',
)
ENCODINGS = "utf-8 utf-16 utf-16-le utf-16-be shift_jis gb18030 utf-7 cp037 idna zip x".split()
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}
SECONDS, MEMORY = 60, 4 << 30  # of a case; bytes that the process may grow by


def archive(data: bytes, suffix: str, rng: random.Random) -> bytes:
    """Return an archive of several members, one of which may be damaged, with what may follow the last."""
    cut = rng.randrange(len(data))
    members = [COMPRESS[suffix](part) for part in (data[:cut], b"", data[cut:])]
    if rng.random() < 0.5:
        number = rng.randrange(len(members))
        members[number] = rng.choice(BYTES)(members[number], rng)
    end = rng.choice(
        [b"", b"\0" * 512, b"garbage", members[0][:9], COMPRESS[".gz"](b"x"), b"\x1f\x8b"]
    )
    return b"".join(members) + end


def xml(rng: random.Random) -> bytes:
    """Return XML in some encoding, with entities or a declaration that does not fit."""
    body = UNIT
    if rng.random() < 0.5:
        body = rng.choice(DECLARATIONS) + body.replace(
            "cat", rng.choice(["&a;", "&b;", "&#0;", "&#x1b;", "&x;", "&"])
        )
    declared = (
        f'<?xml version="1.0" encoding="{rng.choice(ENCODINGS)}"?>'
        if rng.random() < 0.7
        else ""
    )
    data = (declared + body).encode(rng.choice(["utf-8", "utf-16", "utf-16-le", "utf-16-be"]))
    return rng.choice(BYTES)(data, rng) if rng.random() < 0.2 else data


def special(path: Path, rng: random.Random) -> str:
    """Put a link or a special file at a path; return what it is. What is outside is `outside` beside the folder."""
    outside = path.parent.parent / "outside"
    path.unlink(missing_ok=True)
    kind = rng.choice(["link", "absolute", "dangling", "circle", "zero", "folder", "null"])
    targets = {
        "link": "train.en",
        "dangling": "missing",
        "circle": path.name,
        "zero": "/dev/zero",
        "null": "/dev/null",
    }
    elsewhere = {"absolute": outside / "file", "folder": outside}
    path.symlink_to(elsewhere.get(kind) or targets[kind])
    return kind


def change_later(path: Path, rng: random.Random) -> threading.Thread:
    """Start a thread that replaces, extends or cuts a file while a command may read it."""
    delay, kind = rng.random() * 0.2, rng.randrange(4)

    def change() -> None:
        time.sleep(delay)
        if kind == 0:
            path.write_bytes(b"")
        elif kind == 1:
            path.unlink(missing_ok=True)
        elif kind == 2:
            path.write_bytes(path.read_bytes() + b"another line\n\xff\n")
        else:
            path.write_bytes(path.read_bytes()[:37])

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    return thread


def resident_bytes() -> int:
    """Return the memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - Linux only
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


OUTPUTS = "links links.json sure aligner lexicon phrases.gz mixed derived vocab".split()


def odd_input(kind: str, text: Path, rng: random.Random) -> Path:
    """Make the text an odd file of some kind; return its path, which may be another one."""
    if kind == "archive":
        suffix = rng.choice(list(COMPRESS))
        packed = text.with_name(f"{text.name}{suffix}")
        packed.write_bytes(archive(text.read_bytes(), suffix, rng))
        return packed
    if kind == "xml":
        text.write_bytes(xml(rng))
    elif kind == "special input":
        special(text, rng)
    elif kind == "name":
        return text.rename(text.with_name(rng.choice(NAMES)))
    return text


def draw_file(rng: random.Random, material: Path, folder: Path) -> Case:
    """Run a command on one odd file or name, and look for faults, also in what is outside of its folders."""
    shutil.rmtree(folder, ignore_errors=True)
    given, outside, output = folder / "in", folder / "outside", folder / "out"
    for path in (given, outside, output):
        path.mkdir(parents=True)
    (outside / "file").write_text("kept\n")
    for name in ("train.en", "pairs.en", "pairs.xx"):
        shutil.copyfile(material / name, given / name)
    kind = rng.choice(["archive", "xml", "special input", "name", "changing", "special output"])
    line = XML_COMMAND if kind == "xml" else rng.choice(COMMANDS)
    text = odd_input(kind, given / "pairs.en", rng)
    if kind == "special output":
        for name in OUTPUTS:
            special(output / name, rng)
    arguments = [
        part.format(text=text, pairs=given / "pairs.xx", out=output) for part in line.split()
    ]
    before, kept, memory = digests(given), digests(outside), resident_bytes()
    changing = change_later(text, rng) if kind == "changing" else None
    case = Case(arguments, kind, invoke(arguments, SECONDS))
    if changing is not None:
        changing.join()
    # a link that an option names is followed
    may_change = kind in {
        "changing",
        "special output",
    }
    case.faults = faults_of(
        case, folder, {} if may_change else before, ("in", "out", "outside")
    )
    if kind != "special output" and digests(outside) != kept:
        case.faults.append("changed a file outside of the output")
    if resident_bytes() - memory > MEMORY:
        case.faults.append(f"took {(resident_bytes() - memory) >> 20} MB")
    return case
