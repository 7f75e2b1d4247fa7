"""Outputs that a user names: apart from each other, from inputs, and from the files of runs and corpora.

A link that a user names is kept: its target is written. Pipes and devices, such as `/dev/stdout`, are written to
directly. Names that interlace itself chooses are written by `core.files`, which follows no link.
"""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal

from typing_extensions import TypedDict

from interlace.core.errors import DataError, InterlaceError, SettingsError
from interlace.core.files import atomic, cache_folder, disk_errors, walk, write_fault
from interlace.core.json_files import json_record, read_json, write_json

STANDARD_INPUT = Path("/dev/stdin")
STANDARD_OUTPUT = Path("/dev/stdout")
_MAX_LINKS = 40
_DESCRIPTOR = re.compile(r"/proc/(\d+)(?:/task/\d+)?/fd/(\d+)")

# Files that mark a folder of interlace, or a model. What is in and below it is replaced only by what wrote it.
_RUNS = {
    "run.json": "a run",
    "run_state.json": "a run",
    "evaluate.json": "the scores of a model",
    "study.json": "a study",
}
_DATA = {
    "toy.json": "a toy corpus",
    "derived.json": "a derived language",
    "back-translated.json": "a corpus of back-translations",
    "model.safetensors": "a model",
    "model.safetensors.index.json": "a model",
    "pytorch_model.bin": "a model",
    "tokenizer.json": "a model or a tokenizer",
    "tokenizer_config.json": "a model or a tokenizer",
    "merges.txt": "a model or a tokenizer",
    "sentencepiece.bpe.model": "a model or a tokenizer",
    "aligner.json": "an aligner",
}


@dataclass(frozen=True)
class Output:
    """A path that a command writes.

    option: that names it. kind: a file, a folder (replaced as a whole), or a run (a folder that is extended).
    is_earlier: whether an existing file is an earlier output, which may be replaced anywhere; no other file with
    content is replaced. None: files that `output_file` wrote, and that nothing changed since.
    """

    option: str
    path: Path
    kind: Literal["file", "folder", "run"] = "file"
    is_earlier: Callable[[Path], bool] | None = None


def check_outputs(outputs: Sequence[Output], inputs: Iterable[Path]) -> None:
    """Raise a DataError for an output that cannot be written, or would replace an input or a file of a run or a corpus.

    Two options that would write the same file are a SettingsError.
    """
    targets = {output: target_of(output.path) for output in outputs}
    for output, later in combinations(outputs, 2):
        if _overlap(targets[output], targets[later]):
            raise SettingsError(
                f"{later.path}: {output.option} and {later.option} would write the same file; name another: "
                f"{output.option} FILE"
            )
    sources = [path for path in inputs if path.exists()]
    for output, target in targets.items():
        if is_stream(output.path):
            _check_stream(output, target, sources)
        else:
            _check_target(output, target, sources)


def _overlap(target: Path, later: Path) -> bool:
    if target == later:
        return target != Path(os.devnull)
    if is_stream(target) and is_stream(later) and target.exists() and later.exists():
        # a terminal may show several outputs
        return target.samefile(later) and not target.is_char_device()
    return target in later.parents or later in target.parents


def _check_stream(output: Output, target: Path, inputs: Sequence[Path]) -> None:
    """Reject a stream that cannot be written, or is an open input."""
    if target.is_file():
        for path in inputs:
            if path.samefile(target):
                raise DataError(
                    f"{output.path}: would replace the input {path}; name another output"
                )
    if output.kind != "file":
        raise DataError(f"{output.path}: a pipe or a device where a folder is to be written")
    if output.path == STANDARD_OUTPUT:
        return  # always open, also where it has no such name
    is_other_device = target.is_block_device() or target.is_socket()
    if not target.exists() or is_other_device or not _takes_writing(target):
        raise DataError(
            f"{output.path}: cannot be written: expected a pipe, a character device, or a file that is open for writing"
        )


def _takes_writing(target: Path) -> bool:
    descriptor = _own_descriptor(target)
    if descriptor is None:
        return os.access(target, os.W_OK)
    import fcntl  # not on Windows, which has no such paths

    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _check_target(output: Output, target: Path, inputs: Sequence[Path]) -> None:
    """Reject an output that cannot be written, or would replace an input or a file of a run or a corpus."""
    if output.kind == "file" and target.is_dir():
        raise DataError(f"{output.path}: a folder where a file is to be written")
    if output.kind != "file" and target.is_file():
        raise DataError(f"{output.path}: a file where a folder is to be written")
    fault = write_fault(target if output.kind == "run" else target.parent)
    if fault:
        raise DataError(f"{output.path}: cannot be written: {fault}")
    if output.kind == "run" or not target.exists():
        return
    _check_inputs(output, target, inputs)
    is_earlier = output.is_earlier or _is_unchanged
    if output.kind == "file" and is_earlier(target):
        return
    if target.is_file() or any(target.iterdir()):
        _check_owner(output, target)
    if output.kind == "file" and target.stat().st_size:
        raise DataError(
            f"{output.path}: exists, and was not written by this command, or was changed since; "
            "name another output, or remove it"
        )


def _check_inputs(output: Output, target: Path, inputs: Sequence[Path]) -> None:
    for path in inputs:
        source = path.resolve()
        is_inside = output.kind == "file" and source in target.parents
        if path.samefile(target) or target in source.parents or is_inside:
            raise DataError(
                f"{output.path}: would replace the input {path} or a part of it; name another output"
            )
    for path in (STANDARD_INPUT, STANDARD_OUTPUT):
        if path.exists() and path.samefile(target):
            raise DataError(f"{output.path}: is also {path}; name another output")


def _check_owner(output: Output, target: Path) -> None:
    """Reject an output in or below a folder of interlace; `core.files` checks what a folder replaces."""
    marks = _RUNS if output.kind == "folder" else _RUNS | _DATA
    for folder in target.parents:
        for name, what in marks.items():
            if (folder / name).exists():
                raise DataError(
                    f"{output.path}: a file of {folder} ({what}), which is not replaced; name another output"
                )


def target_of(path: Path) -> Path:
    """Return the path that is written for an output: links are followed, except those of open files (`/dev/fd/1`)."""
    if path.name in {"", ".."}:
        return Path(os.path.realpath(path))
    target = path.absolute()
    for _ in range(_MAX_LINKS):
        target = Path(os.path.realpath(target.parent), target.name)
        if _DESCRIPTOR.fullmatch(str(target)) or not target.is_symlink():
            return target
        target = target.parent / target.readlink()
    raise DataError(f"{path}: a symbolic link to itself; name a file")


def is_stream(path: Path) -> bool:
    """Return whether an output is a pipe, a device, or an open file of a process."""
    if path == STANDARD_OUTPUT:
        return True
    target = target_of(path)
    if _DESCRIPTOR.fullmatch(str(target)):
        return True
    return target.exists() and not target.is_file() and not target.is_dir()


def is_standard_output(path: Path) -> bool:
    """Return whether a path is another name of standard output."""
    return target_of(path) == target_of(STANDARD_OUTPUT)


@contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path whose file becomes the output on success: beside its target, or copied to a stream.

    The file is recorded in the cache, so that the next command may replace it. Text has no place for a mark, and a mark
    beside it would be read as text by patterns such as `train.*`.
    """
    if not is_stream(path):
        target = target_of(path)
        with atomic(target, suffix=path.suffix) as partial:
            yield partial
            _record(target, partial)
        return
    with TemporaryDirectory() as folder:
        result = Path(folder, f"result{path.suffix}")
        yield result
        with open_stream(path) as stream, result.open("rb") as content:
            shutil.copyfileobj(content, stream)


def _record(target: Path, partial: Path) -> None:
    """Record the state of a file that takes the place of another one; a cache that cannot be written has no record."""
    with suppress(OSError, InterlaceError):
        states = [_state(partial)]
        if _is_unchanged(
            target
        ):  # until it is replaced, before which the command may be killed
            states.append(_state(target))
        write_json(_record_path(target), {"path": str(target), "states": states})


def _is_unchanged(target: Path) -> bool:
    """Return whether a command wrote the file, and nothing changed it since."""
    try:
        record = read_json(_record_path(target), _Record, {"states": []})
        return _state(target) in record["states"]
    except (OSError, InterlaceError):
        return False


@json_record
class _Record(TypedDict):
    """The sizes in bytes and times in nanoseconds that a file of a command may have."""

    states: list[list[int]]


def _state(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _record_path(target: Path) -> Path:
    name = blake2b(str(target).encode(), digest_size=16).hexdigest()
    return cache_folder() / "outputs" / f"{name}.json"


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a pipe, a device or an open file of this process for writing, at its current position."""
    target = target_of(path)
    descriptor = _own_descriptor(target)
    with disk_errors(path):
        opened = target if descriptor is None else os.dup(descriptor)
        with open(opened, "wb") as file:  # noqa: PTH123 - a path or a descriptor
            yield file


def _own_descriptor(target: Path) -> int | None:
    """Return the number of an open file of this process, if the path names one."""
    descriptor = _DESCRIPTOR.fullmatch(str(target))
    if descriptor is None or int(descriptor[1]) != os.getpid():
        return None
    return int(descriptor[2])


def regular_files(folder: Path) -> list[Path]:
    """Return the files below a folder that may be copied or published, in order; none if there is no folder.

    Raise a DataError that names a link that leads outside of the folder or to another folder, a pipe or a device, or a
    folder that cannot be read.
    """
    root = Path(os.path.realpath(folder))
    files = []
    for parent, folder_names, file_names in walk(root):
        for name in (*folder_names, *file_names):
            path = Path(parent, name)
            shown = folder / path.relative_to(root)
            is_outside = root not in Path(os.path.realpath(path)).parents
            if path.is_symlink() and (is_outside or path.is_dir()):
                raise DataError(
                    f"{shown}: a link to a folder, or outside of {folder}; replace it by a copy"
                )
            if name in file_names:
                if not (path.exists() and stat.S_ISREG(path.stat().st_mode)):
                    raise DataError(f"{shown}: not a regular file; remove it")
                files.append(shown)
    return sorted(files)


def copy_files(folder: Path, into: Path) -> None:
    """Copy the regular files of a folder into another one; raise a DataError as `regular_files`."""
    for path in regular_files(folder):
        copy = into / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
