"""The table cmake/Libraries.cmake: what is built from which folder, and what may include what."""

import dataclasses
import pathlib
import re


@dataclasses.dataclass(frozen=True)
class Entry:
    kind: str  # the function's name without larder_
    path: str  # the folder; the source file of a program, bench or fuzz target; a protobuf's target
    depends: tuple[str, ...]  # folders, and targets of other projects
    line: int


KEYWORDS = {"DEPENDS", "LABELS"}


def read(root: pathlib.Path) -> list[Entry]:
    text = (root / "cmake/Libraries.cmake").read_text()
    text = re.sub(r"#.*", "", text)
    entries = []
    for call in re.finditer(r"larder_(library|protobuf|program|test|bench|fuzz)\s*\(([^)]*)\)", text):
        kind, words = call[1], call[2].split()
        lists = {"": []}
        current = ""
        for word in words:
            if word in KEYWORDS:
                current = word
            lists.setdefault(current, [])
            if word not in KEYWORDS:
                lists[current].append(word)
        positional = lists[""]
        path = {
            "library": lambda: positional[0],
            "protobuf": lambda: positional[0],
            "program": lambda: positional[1],
            "test": lambda: "tests/" + positional[0],
            "bench": lambda: "tests/bench/" + positional[1],
            "fuzz": lambda: "tests/fuzz/" + positional[0],
        }[kind]()
        line = text.count("\n", 0, call.start()) + 1
        depends = lists.get("DEPENDS", [])
        if kind == "protobuf":
            depends.append("protobuf::libprotobuf")
        entries.append(Entry(kind, path, tuple(depends), line))
    return entries


class Table:
    def __init__(self, entries: list[Entry]):
        self.entries = entries
        self.libraries = {e.path: e for e in entries if e.kind in ("library", "protobuf")}

    def owner(self, path: str) -> Entry | None:
        """The entry that builds this source or header; None if none does."""
        folder = path.rpartition("/")[0]
        for entry in self.entries:
            if entry.path == path:
                return entry
        if folder in self.libraries:
            return self.libraries[folder]
        tests = [e for e in self.entries if e.kind == "test" and path.startswith(e.path + "/")]
        return max(tests, key=lambda e: len(e.path), default=None)

    def reachable(self, entry: Entry) -> set[str]:
        """The folders and outside targets that this entry may include, itself among them."""
        seen, todo = set(), [entry.path, *entry.depends]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                if name in self.libraries:
                    todo.extend(self.libraries[name].depends)
        return seen
