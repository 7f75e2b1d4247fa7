"""Downloads of public corpora and test sets, in the layout that recipes expect; `downloads.toml` is the index.

`downloads.json` in the folder records the SHA-256 of what was fetched and of the files made from it.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tarfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import file_digest
from http.client import HTTPException
from importlib.resources import files
from itertools import islice, product
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from filelock import FileLock

from interlace import __version__
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.files import atomic
from interlace.core.hub import is_reachable
from interlace.core.progress import Progress, no_progress
from interlace.text.lines import lines_of, read_lines, writing

RECORD = "downloads.json"
ARCHIVES = "archives"  # the folder of what is fetched, until it is converted
UNTESTED = "untested upstream"  # of every entry: its address was never fetched by the tests
_TIMEOUT = 30.0  # seconds without a byte
_BLOCK = 1 << 20
_MAX_RATIO = 100  # bytes of an archive's files to its own; text compresses 3 to 10 times
_LANGUAGES = {"language", "context", "question"}  # placeholders
_TYDIQA = {"arabic": "ar", "bengali": "bn", "english": "en", "finnish": "fi", "indonesian": "id", "korean": "ko"}
_TYDIQA |= {"russian": "ru", "swahili": "sw", "telugu": "te"}


@dataclass(frozen=True)
class DownloadEntry:
    """An entry of the index; the fields are those of `downloads.toml`."""

    name: str
    about: str
    license: str
    size: str
    files: list[dict[str, Any]]
    languages: list[str] = field(default_factory=list)
    pairs: bool = False
    values: dict[str, Any] = field(default_factory=dict)  # of placeholders, and `splits`

    def row(self) -> dict[str, Any]:
        """Return what a list of entries shows."""
        languages = "pairs such as en-de" if self.pairs else " ".join(self.languages)
        version = f" ({self.values['version']})" if "version" in self.values else ""
        row = {"name": self.name, "languages": languages, "size": self.size, "license": self.license}
        return {**row, "about": f"{self.about}{version}", "status": UNTESTED}


@dataclass(frozen=True)
class _Source:
    """What becomes of the file at an address. pattern: of the members of an archive; None: the file itself."""

    address: str
    pattern: re.Pattern[str] | None
    into: tuple[str, ...]
    change: str
    values: dict[str, str]
    languages: tuple[str, ...]


@cache
def download_index() -> dict[str, DownloadEntry]:
    """Return the entries of the index by name."""
    text = files("interlace.experiments").joinpath("downloads.toml").read_text(encoding="utf-8")
    found = {}
    for name, entry in tomllib.loads(text).items():
        items = entry.pop("items", {"": {}})
        common = {key: entry.pop(key) for key in ("version", "splits") if key in entry}
        languages = entry.pop("languages", "").split()
        for item, values in items.items():
            whole = f"{name}/{item}" if item else name
            own = {**entry, **({"license": values.pop("license")} if "license" in values else {})}
            found[whole] = DownloadEntry(whole, **own, languages=languages, values={**common, **values, "item": item})
    return found


def download(
    names: Iterable[str], folder: Path | str, mirror: str = "", progress: Progress = no_progress
) -> list[Path]:
    """Fetch entries of the index, convert them and write them under a folder; return the files.

    Files that the record names are verified and not fetched again. Run again to resume an interrupted fetch.

    Args:
        names: `NAME`, `NAME:LANGUAGE,..` or `NAME:PAIR,..`; `@VERSION` after `NAME` selects another version.
        folder: where `archives` and `downloads.json` are, too.
        mirror: an address in place of `https://`: the host of an address is the first folder there.
        progress: called with the bytes of an address.

    Raises:
        SettingsError: there is no such entry, language or pair; names the nearest.
        DataError: the server cannot be reached (says what to put where), or gives something else than at the first
            download; an archive is damaged or unsafe; a file that comes from elsewhere would be replaced.
    """
    by_address: dict[str, list[_Source]] = {}
    for source in (source for name in names for source in _sources(name)):
        by_address.setdefault(source.address, []).append(source)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{RECORD}.lock"):
        return [
            path
            for address, sources in by_address.items()
            for path in _Download(folder, address, mirror, progress).files(sources)
        ]


# ---- the index ----


def _sources(name: str) -> Iterator[_Source]:
    name, _, chosen = name.partition(":")
    entry = find_download(*name.partition("@")[::2])
    all_splits = entry.values.get("splits")
    for part, languages in _parts(entry, [part for part in chosen.split(",") if part]):
        source, _, target = part.partition("-")
        pair = {"pair": part, "source": source, "target": target, "sorted": "-".join(sorted((source, target)))}
        known = {key: value for key, value in entry.values.items() if key != "splits"} | (pair if entry.pairs else {})
        for file in entry.files:
            splits = [split for split in file.get("splits", [""]) if all_splits is None or split in all_splits]
            for values in _filled(file["address"], known, languages, splits):
                free = {"language": languages, "context": languages, "question": languages, "split": splits}
                pattern = _pattern(file["member"], values, free) if "member" in file else None
                into = (file["into"],) if isinstance(file["into"], str) else tuple(file["into"])
                address = file["address"].format(**values)
                kept = (values["language"],) if "language" in values else tuple(languages)
                yield _Source(address, pattern, into, file.get("change", ""), values, kept)


def find_download(name: str, version: str = "") -> DownloadEntry:
    """Return an entry of the index, or any corpus of OPUS with a version.

    Raises:
        SettingsError: there is no such entry, or it has no versions.
    """
    index = download_index()
    collection, _, item = name.partition("/")
    entry = index.get(name)
    if version and not re.fullmatch(r"\w[\w.-]*", version):
        raise SettingsError(f"{name}: {version!r} is no version, expected one such as v2018 or r2.15")
    if entry is None and collection == "opus" and re.fullmatch(r"\w[\w.-]*", item) and version:
        entry = replace(index["opus/Tatoeba"], name=name, values={"item": item, "version": version})
    if entry is None:
        hint = "; other corpora of OPUS need a version: opus/CORPUS@VERSION" if collection == "opus" else ""
        raise SettingsError(f"there is no download {name!r}{did_you_mean(name, index)}{hint}")
    if version and "version" not in entry.values:
        raise SettingsError(f"{name}: has no versions, found @{version}")
    return replace(entry, values={**entry.values, "version": version}) if version else entry


def _parts(entry: DownloadEntry, chosen: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the part of a name that addresses are filled with, a pair or nothing, and its languages."""
    if not entry.pairs:
        if chosen and not entry.languages:
            raise SettingsError(f"{entry.name}: has no languages to choose from, found {', '.join(chosen)}")
        for language in chosen:
            if language not in entry.languages:
                raise SettingsError(f"{entry.name}: no language {language!r}{did_you_mean(language, entry.languages)}")
        yield "", chosen or entry.languages
        return
    if not chosen:
        raise SettingsError(f"{entry.name}: name the language pairs, such as {entry.name}:en-de,en-fr")
    for pair in chosen:
        sides = pair.split("-")
        if len(set(sides)) != 2 or len(sides) != 2 or not all(re.fullmatch(r"\w+", side) for side in sides):
            raise SettingsError(f"{entry.name}: {pair!r} is no language pair, expected one such as en-de")
        for side in sides:
            if entry.languages and side not in entry.languages:
                raise SettingsError(f"{entry.name}: no language {side!r}{did_you_mean(side, entry.languages)}")
        yield pair, sides


def _filled(address: str, known: dict[str, str], languages: list[str], splits: list[str]) -> Iterator[dict[str, str]]:
    """Yield the values of the placeholders of an address: one for each language and split that it names."""
    options = {"language": languages, "split": splits}
    choices = {name: values for name, values in options.items() if f"{{{name}}}" in address}
    for choice in product(*choices.values()):
        yield {**known, **dict(zip(choices, choice, strict=True))}


def _pattern(member: str, values: dict[str, str], free: dict[str, list[str]]) -> re.Pattern[str]:
    """Return what matches a member's whole path by its end; unknown placeholders become groups."""
    regex = "(?:.*/)?"
    for number, part in enumerate(re.split(r"\{(\w+)\}", member)):
        if number % 2 == 0:
            regex += re.escape(part)
        elif part in values:
            regex += re.escape(values[part])
        elif f"(?P<{part}>" in regex:
            regex += f"(?P={part})"
        else:
            regex += f"(?P<{part}>{'|'.join(map(re.escape, free.get(part, []))) or '[^/.]+'})"
    return re.compile(regex)


# ---- one address ----


class _Download:
    """Fetches one address and converts it."""

    def __init__(self, folder: Path, address: str, mirror: str, progress: Progress) -> None:
        self.folder, self.address, self.progress = folder, address, progress
        place = urlsplit(address)
        self.url = f"{mirror.rstrip('/')}/{place.netloc}{place.path}" if mirror else address
        if urlsplit(self.url).scheme not in {"http", "https"}:
            raise SettingsError(f"{self.url}: expected an address that begins with http:// or https://")
        self.archive = folder / ARCHIVES / place.netloc / place.path.lstrip("/")

    def files(self, sources: list[_Source]) -> list[Path]:
        """Return the files made of the address; fetch and convert it unless they are there."""
        path = self.folder / RECORD
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        own = record.setdefault(self.address, {"languages": [], "files": {}})
        wanted = sorted({language for source in sources for language in source.languages})
        there = own["files"] and {*wanted} <= {*own["languages"]} and self._verified(own["files"])
        if not there:
            fetched = not self.archive.is_file()
            if fetched:
                self._fetch()
            digest = _digest(self.archive)
            if own.setdefault("sha256", digest) != digest:
                if fetched:
                    self.archive.unlink()
                raise DataError(
                    f"{self.address}: SHA-256 {digest}, but {own['sha256']} at the first download ({own['date']}). The "
                    f"file changed or is damaged; delete its entry in {path} to accept the new one"
                )
            others = {name for address, one in record.items() if address != self.address for name in one["files"]}
            left = {name: one for name, one in own["files"].items() if (self.folder / name).is_file()}
            known = own["languages"] if left == own["files"] else []
            own["files"] = left | self._convert(sources, {*left}, others)
            own["languages"] = sorted({*known, *wanted})
            own.setdefault("date", datetime.now(UTC).date().isoformat())
            with atomic(path) as partial:
                partial.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            if fetched:
                self.archive.unlink()
        return [self.folder / name for name in sorted(own["files"])]

    def _verified(self, digests: dict[str, str]) -> bool:
        """Return whether all files are there.

        Raises:
            DataError: one has other contents than recorded.
        """
        for name, expected in digests.items():
            path = self.folder / name
            if not path.is_file():
                return False
            if _digest(path) != expected:
                raise DataError(f"{path}: changed since it was downloaded; delete it to download it again")
        return True

    def _fetch(self) -> None:
        """Fetch the file, from where an interrupted fetch stopped if the server's copy is still the same."""
        where = f"fetch {self.address} by other means, put it at {self.archive}, and run the same command"
        if not is_reachable(self.url):
            raise DataError(f"{urlsplit(self.url).netloc} cannot be reached; {where}")
        partial, state = (self.archive.with_name(f"{self.archive.name}{suffix}") for suffix in (".partial", ".etag"))
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        begun = partial.stat().st_size if partial.is_file() and state.is_file() else 0
        headers = {"User-Agent": f"interlace/{__version__}", "Accept-Encoding": "identity"}
        if begun:
            headers |= {"Range": f"bytes={begun}-", "If-Range": state.read_text(encoding="utf-8")}
        total = None
        try:
            request = Request(self.url, headers=headers)  # noqa: S310 - the opener knows http and https only
            with _opener().open(request, timeout=_TIMEOUT) as response:
                resumed = response.status == 206 and response.headers["Content-Range"].startswith(f"bytes {begun}-")
                done = begun if resumed else 0
                if response.headers["Content-Length"]:
                    total = done + int(response.headers["Content-Length"])
                tag = response.headers["ETag"] or response.headers["Last-Modified"]
                if tag and not tag.startswith("W/"):
                    state.write_text(tag, encoding="utf-8")
                else:
                    state.unlink(missing_ok=True)
                with partial.open("ab" if resumed else "wb") as file:
                    while block := response.read(_BLOCK):
                        file.write(block)
                        done += len(block)
                        self.progress(f"bytes of {self.archive.name}", done, total or 0)
        except HTTPError as error:
            if error.code == 416:  # the partial file does not fit the server's
                partial.unlink(missing_ok=True)
            raise DataError(f"{self.url}: HTTP {error.code} {error.reason}; if it has moved, {where}") from error
        except (URLError, HTTPException, OSError) as error:
            raise DataError(f"{self.url}: {error}; run the same command to resume, or {where}") from error
        if total is not None and done != total:
            raise DataError(f"{self.url}: ended after {done:,} of {total:,} bytes; run the same command to resume")
        os.replace(partial, self.archive)
        state.unlink(missing_ok=True)

    def _convert(self, sources: list[_Source], own: set[str], others: set[str]) -> dict[str, str]:
        """Write the files and return their SHA-256 by name; all appear at the end."""
        with TemporaryDirectory(prefix=".download-", dir=self.folder) as staging:
            try:
                self._convert_into(Path(staging), sources)
            except (zipfile.BadZipFile, tarfile.TarError, OSError, EOFError, zlib.error, RuntimeError) as error:
                raise DataError(f"{self.archive}: damaged archive: {error}; delete it and download it again") from error
            made = sorted(path for path in Path(staging).rglob("*") if path.is_file())
            names = [path.relative_to(staging).as_posix() for path in made]
            if not made:
                raise DataError(f"{self.archive}: holds none of the expected files; it is not what the index describes")
            digests = dict(zip(names, map(_digest, made), strict=True))
            for name, digest in digests.items():
                path = self.folder / name
                if name in others or (name not in own and path.exists() and _digest(path) != digest):
                    raise DataError(f"{path}: exists and comes from elsewhere; choose another folder")
            for path, name in zip(made, names, strict=True):
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, self.folder / name)
            return digests

    def _convert_into(self, staging: Path, sources: list[_Source]) -> None:
        seen = set[str]()
        for source in sources:
            if source.pattern is None:
                seen |= _write(read_lines(self.archive), source, {}, staging)
        if any(source.pattern for source in sources):
            with self.archive.open("rb") as file:
                limit = _MAX_RATIO * self.archive.stat().st_size + _BLOCK
                for name, stream in _members(file, self.archive.name, limit):
                    for source in sources:
                        if source.pattern and (match := source.pattern.fullmatch(name)):
                            lines = lines_of(stream, f"{self.archive}: {name}")
                            seen |= _write(lines, source, match.groupdict(), staging)
                            break
        missing = {
            language
            for source in sources
            if source.change in _BY_LANGUAGE or (source.pattern and source.pattern.groupindex.keys() & _LANGUAGES)
            for language in source.languages
        } - seen
        if missing:
            raise DataError(f"{self.archive}: no text in {', '.join(sorted(missing))}, which the index promises")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to http and https, but not from https to http."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme not in {req.type, "https"}:
            raise URLError(f"redirected to {newurl}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> OpenerDirector:
    """Return what opens http and https addresses, and no others."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor, _Redirects):
        opener.add_handler(handler())
    return opener


# ---- archives and conversion ----


def _members(file: IO[bytes], name: str, limit: int) -> Iterator[tuple[str, Any]]:
    """Yield the files of an archive, and those of `.tar.gz` files in it, with their paths.

    Raises:
        DataError: a path leads out of the archive, a member is a link or a device, or they are too large.
    """
    total = 0

    def check(member: str, size: int, *, regular: bool) -> None:
        nonlocal total
        total += size
        path = PurePosixPath(member.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]) or not regular:
            raise DataError(f"{name}: unsafe member {member!r}: a link, or a path out of the archive")
        if total > limit:
            raise DataError(f"{name}: its files have more than {limit:,} bytes, {_MAX_RATIO} times the archive's")

    if name.endswith(".zip"):
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                mode = info.external_attr >> 16
                check(info.filename, info.file_size, regular=stat.S_IFMT(mode) in {0, stat.S_IFREG, stat.S_IFDIR})
                with archive.open(info) as stream:
                    if info.filename.endswith((".tar.gz", ".tgz")):
                        inner = _members(stream, info.filename, limit)
                        yield from ((f"{info.filename}/{path.removeprefix('./')}", part) for path, part in inner)
                    elif not info.is_dir():
                        yield info.filename, stream
        return
    with tarfile.open(fileobj=file, mode="r|gz") as packed:
        for entry in packed:
            check(entry.name, entry.size, regular=entry.isreg() or entry.isdir())
            if entry.isreg():
                yield entry.name, packed.extractfile(entry)


def _write(lines: Iterable[str], source: _Source, groups: dict[str, str], staging: Path) -> set[str]:
    """Write the converted lines; return the languages that they are in."""
    values = {**source.values, **groups}
    if source.change in _BY_LANGUAGE:
        languages, rows = source.languages, _BY_LANGUAGE[source.change](lines)
    else:
        languages, rows = (values.get("language", ""),), ((None, line) for line in _BY_LINE[source.change](lines))
    seen = {values[name] for name in _LANGUAGES if name in values}
    with ExitStack() as stack:
        write = {
            language: [
                stack.enter_context(writing(staging / into.format(**{**values, "language": language})))
                for into in source.into
            ]
            for language in languages
        }
        for own, line in rows:
            for language in languages if own is None else (own,):
                for each in write.get(language, ()):
                    each((line,))
            if own is not None:
                seen.add(own)
    return seen


def _without_ids(lines: Iterable[str]) -> Iterator[str]:
    """Yield PAWS-X's columns without the header and the first: two sentences and a label."""
    for line in islice(lines, 1, None):
        yield "\t".join(line.split("\t")[1:4])


def _by_language(lines: Iterable[str]) -> Iterator[tuple[str | None, str]]:
    """Yield XNLI's rows with their language, and the header for all."""
    rows = iter(lines)
    header = next(rows)
    column = header.split("\t").index("language")
    yield None, header
    for row in rows:
        yield row.split("\t")[column], row


def _tydiqa(lines: Iterable[str]) -> Iterator[tuple[str | None, str]]:
    """Yield TyDi QA's articles by language, which begins the ids of questions, as a JSON document each."""
    whole = json.loads("\n".join(lines))
    articles: dict[str, list[Any]] = {}
    for article in whole["data"]:
        name = article["paragraphs"][0]["qas"][0]["id"].partition("-")[0]
        articles.setdefault(_TYDIQA.get(name, name), []).append(article)
    for language, data in articles.items():
        yield language, json.dumps({**whole, "data": data}, ensure_ascii=False)


_BY_LINE: dict[str, Callable[[Iterable[str]], Iterable[str]]] = {
    "": lambda lines: lines,
    "with_tabs": lambda lines: ("\t".join(line.split(None, 1)) for line in lines),
    "without_ids": _without_ids,
    "without_prefixes": lambda lines: (line.partition(":")[2] for line in lines),
}
_BY_LANGUAGE = {"by_language": _by_language, "tydiqa": _tydiqa}
