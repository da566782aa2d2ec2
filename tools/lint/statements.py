"""docs/statements.md against the names of the tests."""

import pathlib
import re

ROW = re.compile(r"^\| ([A-F]\d+) \|", re.MULTILINE)
CPP_TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
PYTHON_TEST = re.compile(r"^\s*(?:class|def) (\w+)", re.MULTILINE)
LEADING_IDS = re.compile(r"^(?:Statement|Statements|test_)?((?:[A-Fa-f]\d+)+)(?=[A-Z_]|$)")
OPEN = "## Not shown yet"


def check(root: pathlib.Path) -> list[str]:
    page = (root / "docs/statements.md").read_text()
    shown_page, _, open_page = page.partition(OPEN)
    listed, pending = set(ROW.findall(shown_page)), set(ROW.findall(open_page))
    tested = tests(root)
    errors = [
        f"docs/statements.md: {name} has no test named after it" for name in sorted(listed - set(tested))
    ]
    for name in sorted(set(tested) - listed):
        where = "under '" + OPEN.removeprefix("## ") + "'" if name in pending else "not there"
        errors.append(f"docs/statements.md: {name} is {where}, but {tested[name]} is named after it")
    return errors


def tests(root: pathlib.Path) -> dict[str, str]:
    """A test for each statement that has one."""
    found = {}
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".cpp", ".h"):
            names = [name for match in CPP_TEST.finditer(path.read_text()) for name in match.groups()]
        elif path.name.startswith("test_") and path.suffix == ".py":
            names = PYTHON_TEST.findall(path.read_text())
        else:
            continue
        for name in names:
            if match := LEADING_IDS.match(name):
                for one in re.findall(r"[A-Fa-f]\d+", match[1]):
                    found.setdefault(one.upper(), f"{path.relative_to(root).as_posix()}: {name}")
    return found
