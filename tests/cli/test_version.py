"""What `interlace --version` says for a report of a bug."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from command_line import command
from interlace import __version__
from interlace.cli.common import version as version_report
from interlace.core import system

AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@localhost")


def facts():
    lines = command("--version").stdout.splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


def test_versions_device_and_cache_are_printed(monkeypatch, tmp_path):
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "prepared data"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    printed = facts()
    assert printed["interlace"] == __version__
    assert printed["python"] == sys.version.split()[0]
    for package in ("numba", "scipy", "scikit-learn", "peft", "sacrebleu"):
        assert printed[package] == version(package)
    assert printed["torch"] == version("torch")
    assert printed["device"].startswith("cpu")
    assert printed["cache"] == str(tmp_path / "prepared data")


@pytest.mark.parametrize(
    ("cuda", "hip", "platform"), [("13.0", None, "CUDA 13.0"), (None, "7.1.2", "ROCm 7.1.2")]
)
def test_a_gpu_is_named_with_its_platform(monkeypatch, cuda, hip, platform):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "H100")
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", hip)
    assert facts()["device"] == f"H100 ({platform})"


def test_a_broken_torch_is_reported(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libtorch.so: cannot open')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch")
    assert facts()["device"] == "torch cannot be imported: libtorch.so: cannot open"


def test_the_commit_of_a_clone_is_printed(monkeypatch, tmp_path):
    package = tmp_path / "src" / "interlace" / "core"
    monkeypatch.setattr(system, "__file__", str(package / "system.py"))
    commit = system.commit.__wrapped__
    assert commit() == ""
    for arguments in (["init"], [*AUTHOR, "commit", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True, capture_output=True)
    head = (tmp_path / ".git" / "HEAD").read_text().removeprefix("ref: ").strip()
    assert commit() == (tmp_path / ".git" / head).read_text()[:12]
    monkeypatch.setenv("PATH", "")
    assert commit() == ""


def test_a_missing_commit_is_said(monkeypatch):
    monkeypatch.setattr(version_report, "commit", lambda: "")
    assert facts()["commit"].startswith("unknown")


def test_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(sys, "path", [])  # where distributions are looked for
    assert facts()["transformers"] == "not installed"


def test_a_missing_home_is_reported(monkeypatch):
    def fail():
        raise RuntimeError

    monkeypatch.delenv("INTERLACE_CACHE", raising=False)
    monkeypatch.setattr(Path, "home", fail)
    assert "INTERLACE_CACHE=/path" in facts()["cache"]
