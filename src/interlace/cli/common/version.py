"""What a report of a bug says about the installation: `interlace --version`."""

import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from interlace.core import VERSION
from interlace.core.errors import InterlaceError
from interlace.core.files import cache_folder
from interlace.core.system import commit, processor_name

_PACKAGES = (
    "numpy",
    "numba",
    "pydantic",
    "typer",
    "rich",
    "scipy",
    "scikit-learn",
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "accelerate",
    "peft",
    "sacrebleu",
    "datasets",
    "pyarrow",
)


def installation() -> dict[str, str]:
    """Return versions of interlace (with its commit), Python and packages, the system, the device and the cache folder.

    Nothing is raised, since a broken installation is reported, too. torch is imported if it is installed, in seconds.
    """
    facts = {
        "interlace": VERSION,
        "commit": commit() or "unknown (not in a clone with git)",
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": processor_name(),
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    facts["device"] = _device()
    try:
        facts["cache"] = str(cache_folder())
    except InterlaceError as error:
        facts["cache"] = str(error)
    return facts


def _device() -> str:
    """Return the name of the device that trains."""
    if find_spec("torch") is None:
        return "cpu"
    try:
        import torch
    except (ImportError, OSError) as error:
        return f"torch cannot be imported: {error}"
    if torch.cuda.is_available():
        platform_version = f"CUDA {torch.version.cuda}"
        if torch.version.hip:
            platform_version = f"ROCm {torch.version.hip}"
        return f"{torch.cuda.get_device_name()} ({platform_version})"
    if torch.backends.mps.is_available():
        return "cpu (MPS is not used)"
    return "cpu"
