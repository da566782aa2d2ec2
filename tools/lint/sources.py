"""Our C++ files, and what they include."""

import pathlib
import re

ROOTS = ("core", "proto", "real", "sim", "terminal", "workloads", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def files(root: pathlib.Path) -> list[str]:
    found = []
    for top in ROOTS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                found.append(path.relative_to(root).as_posix())
    return found


def text(root: pathlib.Path, path: str) -> str:
    return (root / path).read_text()


def includes(root: pathlib.Path, path: str) -> list[tuple[int, bool, str]]:
    """(line, in quotes, name) of each #include."""
    content = text(root, path)
    return [
        (content.count("\n", 0, m.start(1)) + 1, m[1] == '"', m[2])
        for m in INCLUDE.finditer(content)
    ]


def closure(root: pathlib.Path, path: str) -> list[str]:
    """This file and each of our headers that it includes, however deep."""
    seen, todo = set(), [path]
    while todo:
        name = todo.pop()
        if name not in seen and (root / name).is_file():
            seen.add(name)
            todo.extend(n for _, quoted, n in includes(root, name) if quoted)
    return sorted(seen)
