"""The laws of the house that a machine can check: functions from source files to complaints.

No complaint means that the law is kept; a complaint names file and line.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PACKAGE = "interlace"
LAYERS = (  # a package imports only packages above it in this list
    "core scores text alignment readers data embeddings derived toy models aligners "
    "objectives tasks training experiments report api cli __main__"
).split()
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LAYER_OF = {package: layer for layer, package in enumerate(LAYERS)}
LIGHT = {*LAYERS[: LAYERS.index("toy") + 1], "aligners"}
NOT_CODE = {
    getattr(tokenize, name)
    for name in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER ENCODING".split()
}
LOADERS = {"from_pretrained", "from_config"}
MACHINE_PATH = re.compile(
    r"(?<![\w.:~<>-])/(?:work|root|home|Users)/\w|(?<!\w)[A-Z]:\\{1,2}Users\b"
)


@dataclass(frozen=True)
class Module:
    """A source file of the package; `name` is dotted without the package's own name, `""` for its root."""

    name: str
    where: str  # path below the package
    tree: ast.Module
    text: str

    @property
    def package_name(self) -> str:
        """The top-level module or package that it belongs to."""
        return self.name.partition(".")[0]

    def at(self, node: ast.AST) -> str:
        """`text/lines.py:12`."""
        return f"{self.where}:{getattr(node, 'lineno', 1)}"


def modules(package: Path) -> list[Module]:
    """Every Python file under the package's folder."""
    found = []
    for path in sorted(package.rglob("*.py")):
        where = path.relative_to(package)
        text = path.read_text(encoding="utf-8")
        name = ".".join(where.with_suffix("").parts).removesuffix("__init__").rstrip(".")
        found.append(Module(name, where.as_posix(), ast.parse(text, str(path)), text))
    return found


# ---- layers ----


def wrong_layers(package: list[Module]) -> Iterator[str]:
    """Imports, at any place in a file, of a package of the same or a higher layer."""
    names = {module.name for module in package}
    for module in package:
        if module.name and module.package_name not in LAYER_OF:
            yield f"{module.where}: {module.package_name!r} is not in LAYERS"
            continue
        for node, target in _imports_of_ours(module, names):
            if not _may_import(module, target):
                yield f"{module.at(node)}: {module.package_name} imports {target}, which is not in a lower layer"


def _may_import(module: Module, target: str) -> bool:
    package = target.partition(".")[0]
    if not module.name or package == module.package_name:
        return True  # the root may import everything
    if package not in LAYER_OF:
        return target == "__version__"
    return LAYER_OF[package] < LAYER_OF[module.package_name]


def _imports_of_ours(module: Module, names: set[str]) -> Iterator[tuple[ast.AST, str]]:
    """(node, dotted name without the package's own) of each import of the package, inside functions too."""
    for node in ast.walk(module.tree):
        for imported, is_member in _imported(module, node):
            head, _, target = imported.partition(".")
            if head != PACKAGE:
                continue
            parent = target.rpartition(".")[0]
            yield node, parent if is_member and parent and target not in names else target


def _imported(module: Module, node: ast.AST) -> Iterator[tuple[str, bool]]:
    """(dotted name, whether its last part may be a thing in a module) of what an import statement names."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, False) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = (
                module.name
                if module.where.endswith("__init__.py")
                else module.name.rpartition(".")[0]
            )
            above = [PACKAGE, *filter(None, package.split("."))]
            base = ".".join([*above[: len(above) - node.level + 1], *filter(None, [base])])
        yield from ((f"{base}.{alias.name}", True) for alias in node.names)


def private_imports(package: list[Module]) -> Iterator[str]:
    """Imports of a module whose name begins with `_` from another package."""
    names = {module.name for module in package}
    for module in package:
        for node, target in _imports_of_ours(module, names):
            if (
                target in names
                and target.rpartition(".")[2].startswith("_")
                and target.partition(".")[0] != module.package_name
            ):
                yield f"{module.at(node)}: imports {target}, a private module of another package"


def cycles(package: list[Module]) -> list[str]:
    """Modules that import themselves, by way of others, when they are loaded."""
    names = {module.name for module in package}
    graph: dict[str, set[str]] = {name: set() for name in names}
    for module in package:
        for node in _run_on_import(module.tree.body):
            for imported, is_member in _imported(module, node):
                target = _module_of(imported, is_member, names)
                if target not in ("", module.name):
                    graph[module.name].add(target)
    return sorted(name for name in names if name in _reachable(name, graph))


def _module_of(imported: str, is_member: bool, names: set[str]) -> str:
    """Its name without the package's own; empty for what is not ours."""
    head, _, target = imported.partition(".")
    if is_member and target not in names:
        target = target.rpartition(".")[0]
    return target if head == PACKAGE and target in names else ""


def _reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo += new
    return found


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def figures(package: list[Module]) -> dict[str, float]:
    """How much program there is, and how dense: counts of a thousand lines of code, but for the first two and last.

    Docstrings, comments and blank lines are not code, so neither short nor packed lines change the number of nodes.
    """
    nodes = sum(_code_nodes(module.tree) for module in package)
    lines = sum(len(_code_lines(module)) for module in package)
    names = "comprehensions, nested comprehensions, tuple assignments, conditional expressions"
    counts = dict.fromkeys(names.split(", "), 0)
    private = 0
    for module in package:
        private += module.name.rpartition(".")[2].startswith("_")
        for node in ast.walk(module.tree):
            if isinstance(node, COMPREHENSIONS):
                counts["comprehensions"] += 1
                inner = sum(isinstance(each, COMPREHENSIONS) for each in ast.walk(node)) > 1
                counts["nested comprehensions"] += inner or len(node.generators) > 1
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                counts["tuple assignments"] += isinstance(node.targets[0], ast.Tuple)
            elif isinstance(node, ast.IfExp):
                counts["conditional expressions"] += 1
    return {
        "nodes": nodes,
        "nodes a line": round(nodes / lines, 2),
        **{name: round(1000 * count / lines, 1) for name, count in counts.items()},
        "private modules, %": round(100 * private / len(package), 1),
    }


def nodes_of_files(paths: Iterable[Path]) -> int:
    """Syntax nodes of files, without docstrings."""
    return sum(_code_nodes(ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def _docstrings(tree: ast.AST) -> list[ast.stmt]:
    return [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, (*DEFINITIONS, ast.Module))
        and ast.get_docstring(node, clean=False) is not None
    ]


def _code_nodes(tree: ast.AST) -> int:
    in_docstrings = 2 * len(_docstrings(tree))  # a statement and its constant
    return sum(1 for _ in ast.walk(tree)) - in_docstrings


def _code_lines(module: Module) -> set[int]:
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for docstring in _docstrings(module.tree):
        lines -= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return lines


def _run_on_import(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes that run when the module is imported: not those of functions, nor under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _run_on_import(node.orelse)
        else:
            yield from _run_on_import(ast.iter_child_nodes(node))


# ---- what the source never does ----


PUBLIC = {
    "_asdict",
    "_exit",
    "_fields",
    "_make",
    "_replace",
}  # of named tuples and `os`, documented


def private_uses(package: list[Module]) -> Iterator[str]:
    """Private names of other packages, as `file: import or attribute`.

    A name is theirs if it begins with one underscore and no file of the package defines it.
    """
    ours = {name for _, node in _nodes(package) for name in _defined(node)}
    for module, node in _nodes(package):
        if isinstance(node, ast.Attribute):
            names = {node.attr} - ours
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported = {name for name, _ in _imported(module, node)}
            foreign = {name for name in imported if name.partition(".")[0] != PACKAGE}
            names = {part for name in foreign for part in name.split(".")}
        else:
            continue
        if any(_is_private(name) for name in names):
            yield f"{module.where}: {ast.unparse(node)}"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def _defined(node: ast.AST) -> Iterator[str]:
    """Names that a statement gives to functions, classes, variables, and attributes of `self`."""
    if isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(getattr(node, "ctx", None), ast.Store):
        variable = re.fullmatch(r"(self\.)?(\w+)", ast.unparse(node))
        if variable:
            yield variable[2]


def _nodes(package: list[Module]) -> Iterator[tuple[Module, ast.AST]]:
    for module in package:
        for node in ast.walk(module.tree):
            yield module, node


def duplicate_classes(package: list[Module]) -> Iterator[str]:
    """Public classes with a name that another module uses too."""
    found: dict[str, list[str]] = {}
    for module in package:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module.at(node))
    yield from (
        f"{name}: {', '.join(places)}" for name, places in found.items() if len(places) > 1
    )


def pickles(package: list[Module]) -> Iterator[str]:
    """Calls that read or write pickles, or run code of checkpoints; ruff finds imports of pickle."""
    for module, node in _nodes(package):
        if isinstance(node, ast.Call) and (fault := _unsafe_call(node)):
            yield f"{module.at(node)}: {fault}"


def remote_code(files: Iterable[Path]) -> Iterator[str]:
    """Loading calls of transformers' Auto classes that may run a checkpoint's own Python, or ask whether to.

    Every call says `trust_remote_code=False`. A method that is taken without a call cannot be checked, so that is a
    complaint too.
    """
    for path in files:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))))
        safe = {
            id(node.func) for node in nodes if isinstance(node, ast.Call) and _is_safe(node)
        }
        for node in nodes:
            if not isinstance(node, ast.Attribute) or id(node) in safe:
                continue
            if node.attr in LOADERS and _is_auto(node.value):
                yield f"{path}:{node.lineno}: {ast.unparse(node)} without trust_remote_code=False"


def _is_safe(call: ast.Call) -> bool:
    return _keywords(call).get("trust_remote_code") == "False"


def _keywords(call: ast.Call) -> dict[str | None, str]:
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}


def _is_auto(owner: ast.expr) -> bool:
    """Whether it is an Auto class, or a variable that may hold one."""
    is_variable = isinstance(owner, ast.Name) and owner.id[:1].islower() and owner.id != "cls"
    return is_variable or "Auto" in ast.unparse(owner)


def _unsafe_call(node: ast.Call) -> str:
    name = ast.unparse(node.func)
    given = _keywords(node)
    if given.get("trust_remote_code", "False") != "False":
        return "trust_remote_code"
    if given.get("allow_pickle", "False") != "False":
        return "allow_pickle"
    if name == "torch.load" and given.get("weights_only") != "True":
        return "torch.load without weights_only=True"
    if name == "torch.save" or name.endswith((".save_state", ".load_state")):
        return f"{name} writes or reads pickles"
    return ""


def fixtures(path: Path) -> Iterator[str]:
    """Names of the pytest fixtures that a file defines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if any(decorator.startswith("pytest.fixture") for decorator in decorators):
                yield node.name


def machine_paths(files: Iterable[Path]) -> Iterator[str]:
    """Absolute paths of somebody's machine in text; files that are no UTF-8 text are passed over."""
    for path in files:
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            if found := MACHINE_PATH.search(line):
                yield f"{path}:{number}: {line[found.start() : found.start() + 40]!r}"
