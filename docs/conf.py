"""Settings of the documentation site: `make docs` builds it into `docs/_build/html`."""

import inspect
import re

from docutils.nodes import Text, literal, literal_block

import interlace

project = "interlace"
version = release = interlace.__version__
author = copyright = "The interlace authors"  # noqa: A001 - Sphinx's name
html_title = "interlace"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_extra_path = ["llms.txt"]
exclude_patterns = ["_build"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton"]
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
suppress_warnings = ["misc.highlighting_failure"]  # blocks that show output after a command

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

nb_execution_mode = "off"  # outputs are stored: `make notebooks`

default_role = "literal"  # docstrings write names in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
# types of other libraries; there is no network to look them up
nitpick_ignore_regex = [("py:.*", ".*")]


def format_docstring(_app, what, _name, documented, _options, lines) -> None:
    """Turn plain-text docstrings into reStructuredText: `name: meaning` sentences into lists, `Raises:` into bold."""
    if what == "module":
        return
    try:
        names = {
            *inspect.signature(documented).parameters,
            *getattr(documented, "__annotations__", {}),
        }
    except (TypeError, ValueError):
        names = set()
    blocks = [_formatted(block, names) for block in "\n".join(lines).strip().split("\n\n")]
    lines[:] = "\n\n".join(blocks).split("\n")


def _formatted(block: str, names: set[str]) -> str:
    """Return a paragraph; code, doctests and lists stay as they are."""
    if block.startswith((" ", ">>>", "- ", "..")):
        return block
    text = " ".join(block.split())
    if names:
        text = re.sub(rf"(?:^|(?<=[.)] ))({'|'.join(sorted(names))}): ", r"\n- ``\1``: ", text)
        text = re.sub(r"(?<!\n)\n- ", "\n\n- ", text, count=1)
    return re.sub(r"^(Raises|Returns|Yields): ", r"**\1:** ", text).strip("\n")


def keep_together(_app, doctree, _name) -> None:
    """Put no-break spaces between a number and its unit or error: `33.4 %`, `47.7 ± 4.2`."""
    for text in list(doctree.findall(Text)):
        if not isinstance(text.parent, literal | literal_block):
            text.parent.replace(
                text,
                Text(re.sub(r"(?<=\d) (?=[%±])|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", text)),
            )


def setup(app) -> None:
    """Connect the hooks."""
    app.connect("autodoc-process-docstring", format_docstring)
    app.connect("doctree-resolved", keep_together)
