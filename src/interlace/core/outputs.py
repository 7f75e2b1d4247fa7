"""Outputs that a user names: apart from each other, from inputs, and from the files of runs and corpora.

A link that a user names is kept: its target is written. Pipes and devices, such as `/dev/stdout`, are written to
directly. Names that interlace itself chooses are written by `core.files`, which follows no link.
"""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal

from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic, disk_errors, walk, write_fault

STANDARD_INPUT = Path("/dev/stdin")
STANDARD_OUTPUT = Path("/dev/stdout")
_MAX_LINKS = 40
_DESCRIPTOR = re.compile(r"/proc/(\d+)(?:/task/\d+)?/fd/(\d+)")

# Files that are together in a folder that interlace wrote. Files in and below it are replaced only by what wrote them.
_RUNS: dict[tuple[str, ...], str] = {
    ("recipe.json", "run.json"): "a run",
    ("recipe.json", "run_state.json"): "a run",
    ("evaluate.json", "scores.json"): "the scores of a model",
    ("study.json", "cells"): "a study",
}
_CORPORA: dict[tuple[str, ...], str] = {
    ("toy.json",): "a toy corpus",
    ("derived.json",): "a derived language",
    ("back-translated.json",): "a corpus of back-translations",
    ("config.json", "model.safetensors"): "a model",
    ("config.json", "model.safetensors.index.json"): "a model",
    ("config.json", "pytorch_model.bin"): "a model",
    ("tokenizer.json",): "a model or a tokenizer",
    ("tokenizer_config.json",): "a model or a tokenizer",
    ("vocab.json", "merges.txt"): "a model or a tokenizer",
    ("sentencepiece.bpe.model",): "a model or a tokenizer",
    ("aligner.json",): "an aligner",
}


@dataclass(frozen=True)
class Output:
    """A path that a command writes.

    option: that names it. kind: a file, a folder (replaced as a whole), or a run (a folder that is extended).
    is_earlier: whether an existing file is an earlier output of this command, which it may replace anywhere.
    is_beside: whether the name is derived from that of another output; other files of this name are not replaced.
    """

    option: str
    path: Path
    kind: Literal["file", "folder", "run"] = "file"
    is_earlier: Callable[[Path], bool] | None = None
    is_beside: bool = False


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
            _check_stream(output, target)
            for path in sources:
                if target.is_file() and path.samefile(target):
                    raise DataError(
                        f"{output.path}: is also the input {path}; write to another file"
                    )
            continue
        _check_target(output, target, sources)


def _check_target(output: Output, target: Path, sources: Sequence[Path]) -> None:
    """Reject an output that cannot be written, or would replace an input or a file of a run or a corpus."""
    _check_kind(output, target)
    fault = write_fault(target if output.kind == "run" else target.parent)
    if fault:
        raise DataError(f"{output.path}: cannot be written: {fault}")
    if output.kind == "run":
        return
    _check_inputs(output, target, sources)
    if target.exists() and output.is_earlier is not None and output.is_earlier(target):
        return
    if output.is_beside and target.is_file():
        raise DataError(
            f"{output.path}: exists, and {output.option} would replace it; name another output"
        )
    owner = _owner(target, output, sources)
    if owner:
        raise DataError(
            f"{output.path}: a file of {owner}, which is not replaced; name another output"
        )


def _overlap(target: Path, later: Path) -> bool:
    if target == later:
        return target != Path(os.devnull)
    if is_stream(target) and is_stream(later) and target.exists() and later.exists():
        # a terminal may show several outputs
        return target.samefile(later) and not target.is_char_device()
    return target in later.parents or later in target.parents


def _check_stream(output: Output, target: Path) -> None:
    if output.kind != "file":
        raise DataError(f"{output.path}: a pipe or a device where a folder is to be written")
    if target.is_block_device():
        raise DataError(f"{output.path}: a block device where a file is to be written")
    if output.path == STANDARD_OUTPUT:
        return  # always open, also where it has no such name
    if not target.exists():
        raise DataError(f"{output.path}: cannot be written: no such open file")
    if target.is_socket() or not _takes_writing(target):
        raise DataError(f"{output.path}: cannot be written: not open for writing")


def _takes_writing(target: Path) -> bool:
    descriptor = _own_descriptor(target)
    if descriptor is None:
        return os.access(target, os.W_OK)
    import fcntl  # not on Windows, which has no such paths

    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _check_kind(output: Output, target: Path) -> None:
    if output.kind == "file" and target.is_dir():
        raise DataError(f"{output.path}: a folder where a file is to be written")
    if output.kind != "file" and target.is_file():
        raise DataError(f"{output.path}: a file where a folder is to be written")


def _check_inputs(output: Output, target: Path, inputs: Iterable[Path]) -> None:
    """Reject an output that is an input, standard input or output, or a folder that contains an input."""
    if not target.exists():
        return
    for path in inputs:
        if path.samefile(target):
            raise DataError(f"{output.path}: is also the input; write to another file")
        if output.kind == "folder" and target in path.resolve().parents:
            raise DataError(f"{output.path}: contains the input {path}; write to another folder")
    for path in (STANDARD_INPUT, STANDARD_OUTPUT):
        if path.exists() and path.samefile(target):
            what = "the input" if path == STANDARD_INPUT else "standard output"
            raise DataError(f"{output.path}: is also {what}; write to another file")


def _owner(target: Path, output: Output, inputs: Iterable[Path]) -> str:
    """Return the folder to which an existing file or folder belongs, and what the folder is; empty if to none."""
    if not (target.is_file() or (target.is_dir() and any(target.iterdir()))):
        return ""
    marks = _RUNS if output.kind == "folder" else _RUNS | _CORPORA
    for folder in target.parents:
        for names, what in marks.items():
            if all((folder / name).exists() for name in names):
                return f"{folder} ({what})"
    for path in inputs:
        if path.is_dir() and path.resolve() in target.parents and output.kind == "file":
            return f"{path} (an input)"
    return ""


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
    """Yield a temporary path whose file becomes the output on success: beside its target, or copied to a stream."""
    if not is_stream(path):
        with atomic(target_of(path), suffix=path.suffix) as partial:
            yield partial
        return
    with TemporaryDirectory() as folder:
        result = Path(folder, f"result{path.suffix}")
        yield result
        with open_stream(path) as stream, result.open("rb") as content:
            shutil.copyfileobj(content, stream)


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a pipe, a device or an open file of this process for writing, at its current position."""
    target = target_of(path)
    descriptor = _own_descriptor(target)
    with disk_errors(path):
        if descriptor is not None:
            with os.fdopen(_duplicate(descriptor, path), "wb") as file:
                yield file
        else:
            with target.open("wb") as file:
                yield file


def _own_descriptor(target: Path) -> int | None:
    """Return the number of an open file of this process, if the path names one."""
    descriptor = _DESCRIPTOR.fullmatch(str(target))
    if descriptor is None or int(descriptor[1]) != os.getpid():
        return None
    return int(descriptor[2])


def _duplicate(descriptor: int, path: Path) -> int:
    try:
        return os.dup(descriptor)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: no such open file") from error


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
            if path.is_symlink() and root not in Path(os.path.realpath(path)).parents:
                raise DataError(f"{shown}: a link outside of the folder; replace it by a copy")
            if path.is_symlink() and path.is_dir():
                raise DataError(f"{shown}: a link to a folder; replace it by a copy")
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
