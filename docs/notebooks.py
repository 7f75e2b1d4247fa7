"""Run the notebooks of the site, and store their outputs without what differs from run to run.

    python docs/notebooks.py [NOTEBOOK..]

`make notebooks` does the same. Each notebook runs in an empty folder. Progress, log lines and execution times are not
stored. The digest of what ran is, so that `tests/test_docs.py` can tell when outputs are stale.
"""

import hashlib
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import interlace

DOCS = Path(__file__).parent
TIMEOUT = 600  # seconds of a cell
WIDGET = "application/vnd.jupyter.widget-view+json"  # a progress bar of another library
EMPTY = {"text/plain": ""}  # where a progress bar of ours was
ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object without a representation of its own


def notebooks() -> list[Path]:
    """Return the notebooks of the site."""
    return [DOCS / "quickstart.ipynb", *sorted(DOCS.glob("tutorials/*.ipynb"))]


def digest(notebook: Any) -> str:
    """Return the hash of the code of a notebook, as JSON or of nbformat, and of the version of the package."""
    hashed = hashlib.sha256(interlace.__version__.encode())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])  # a list of lines in the file
            hashed.update(b"\0" + source.encode())
    return hashed.hexdigest()[:16]


def missing_variables(path: Path) -> list[str]:
    """Return the variables of the environment that a notebook reads and that are not set, such as `INTERLACE_DATA`."""
    names = set(re.findall(r"INTERLACE_[A-Z]+", path.read_text(encoding="utf-8")))
    return sorted(names - os.environ.keys())


def run(path: Path) -> None:
    """Run a notebook, and write it with its outputs; an error in a cell is raised, and nothing is written."""
    import nbformat  # comes with the extra `docs`
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            resources={"metadata": {"path": folder}},
            record_timing=False,
            extra_arguments=["--log-level=ERROR"],
        )
        client.execute()
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = stored(cell.outputs, folder)
    notebook.metadata.language_info = {"name": "python"}  # without its version
    notebook.metadata.interlace = {"digest": digest(notebook)}
    nbformat.write(notebook, path)


def stored(outputs: list[Any], folder: str) -> list[Any]:
    """Return the outputs of a cell without progress, log lines, the folder it ran in, and addresses of objects."""
    results: list[Any] = []
    for output in outputs:
        data = output.get("data", {})
        is_bar = WIDGET in data or data == EMPTY
        if is_bar or output.get("name") == "stderr":
            continue
        if "text" in output:
            output.text = plain(output.text, folder)
            if results and results[-1].get("name") == output.name:
                results[-1].text += output.text  # a stream arrives in parts
                continue
        if len(data) > 1:
            data.pop("text/plain", None)  # of a table or figure, which holds keys and times
        for kind, content in data.items():
            data[kind] = plain(content, folder)
        results.append(output)
    return results


def plain(text: str, folder: str) -> str:
    """Return text without the folder that a notebook ran in, and without addresses of objects."""
    return ADDRESS.sub("", text.replace(f"{folder}{os.sep}", ""))


if __name__ == "__main__":
    os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    os.environ.setdefault("INTERLACE_CACHE", str(DOCS / "_build" / "cache"))
    for path in [Path(name) for name in sys.argv[1:]] or notebooks():
        print(path, flush=True)  # noqa: T201 - what takes so long
        if missing := missing_variables(path):
            print(f"skipped: it needs {', '.join(missing)}")  # noqa: T201
        else:
            run(path)
