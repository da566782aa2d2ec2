"""Who may include whom. On Debian each header is on the default path, so no compiler tells."""

import pathlib
import re

import sources
from table import Table

# Headers of other projects, and the target in DEPENDS that allows them.
PACKAGES = {
    "boost/": "Boost::headers",
    "xxhash.h": "xxhash",
    "xxh_x86dispatch.h": "xxhash",
    "re2/": "re2",
    "nlohmann/": "nlohmann_json::nlohmann_json",
    "CLI/": "CLI11::CLI11",
    "fmt/": "fmt::fmt",
    "spdlog/": "spdlog::spdlog",
    "google/protobuf/": "protobuf::libprotobuf",
    "rapidcheck": "rapidcheck",
}
# The parts of the tree, and what the table itself may let them reach.
REACH = {
    "core": ("core/",),
    "proto": ("core/", "proto"),
    "workloads": ("core/base", "workloads"),
    "real": ("core/", "proto", "real/"),
    "sim": ("core/", "proto", "workloads", "sim/"),
}
# Folders that may reach more than their part: the command lines read traces, and the lock-step run
# drives a client through one.
MORE = {
    "real/calibrate": ("workloads",),  # writes files as they do
    "real/cli": ("workloads",),
    "real/main.cpp": ("workloads",),
    "workloads/lockstep": ("core/",),
}
BEGIN_OTHERWISE = ("real/rpc/asio.cpp",)  # the one place that compiles Asio
XXHASH = ("xxhash.h", "xxh_x86dispatch.h")

# Containers and graphs: no I/O, no clock, the same result on every machine.
CORE_BOOST = tuple(
    f"boost/{part}/" for part in ("container", "container_hash", "graph", "intrusive", "unordered")
)
CORE_PACKAGES = CORE_BOOST + ("re2/",)
SYSTEM_HEADER = r"((sys|netinet|arpa|net|linux)/)?[a-z_0-9]+\.h"
# Standard headers whose only use would be a clock, a thread, I/O or unseeded randomness.
NOT_IN_CORE = {
    "barrier", "condition_variable", "ctime", "filesystem", "fstream", "future", "iostream",
    "latch", "mutex", "random", "semaphore", "shared_mutex", "stop_token", "thread",
}  # fmt: skip


def check(root: pathlib.Path, table: Table) -> list[str]:
    errors = [f"cmake/Libraries.cmake:{line}: {text}" for line, text in check_table(table)]
    for path in sources.files(root):
        for line, text in check_file(root, table, path):
            errors.append(f"{path}:{line}: {text}")
    return errors


def check_table(table: Table):
    for entry in table.entries:
        part = entry.path.split("/")[0]
        if part not in REACH:
            continue
        allowed = REACH[part] + MORE.get(entry.path, ())
        for name in sorted(table.reachable(entry)):
            if name.split("/")[0] in REACH and not (name + "/").startswith(allowed):
                if name != entry.path:
                    yield entry.line, f"{entry.path} must not reach {name}, however indirectly"


def check_file(root: pathlib.Path, table: Table, path: str):
    owner = table.owner(path)
    if owner is None and not path.startswith("tests/bench/"):
        yield 1, "no line of cmake/Libraries.cmake builds this file"
        return
    allowed = table.reachable(owner) if owner else set()
    yield from check_first(root, path)
    for line, quoted, name in sources.includes(root, path):
        if quoted:
            yield from ((line, t) for t in check_own(root, table, path, owner, allowed, name))
        else:
            yield from ((line, t) for t in check_outside(path, owner, allowed, name))


def check_first(root, path):
    """A source begins with its own header, which is so compiled alone; those without one are compiled for that."""
    header = path.removesuffix(".cpp") + ".h"
    if not path.endswith(".cpp") or not (root / header).is_file():
        return
    first = next(iter(sources.includes(root, path)), None)
    if first is not None and first[1:] != (True, header) and path not in BEGIN_OTHERWISE:
        yield first[0], f'the first include is "{header}"'


def check_own(root, table, path, owner, allowed, name):
    exists = (root / name).is_file()
    if not exists and not (root / re.sub(r"\.pb\.h$", ".proto", name)).is_file():
        yield f'"{name}" is no file of ours: own headers by path from the root, others in <>'
    elif name.endswith(".pb.h") and path.endswith(".h") and not in_protocol(path):
        yield f'"{name}": no Protobuf in headers outside proto/ and real/'
    folder = name.rpartition("/")[0]
    if name.startswith("tests/"):
        if not path.startswith("tests/"):
            yield f'"{name}": only tests include tests'
        elif name.startswith("tests/bench/") or table.owner(name) is owner:
            pass
        elif owner is not None and folder not in allowed:
            yield f'"{name}": {owner.path} does not name {folder} in its DEPENDS'
    elif folder not in allowed and owner is not None:
        yield f'"{name}": {owner.path} does not reach {folder} by its DEPENDS'


def check_outside(path, owner, allowed, name):
    part = path.split("/")[0]
    standard = re.fullmatch(r"[a-z_0-9]+", name) is not None
    if name.startswith(tuple(f"{top}/" for top in sources.ROOTS)):
        yield f"<{name}>: own headers in quotes"
    if part == "core":
        if standard and name in NOT_IN_CORE:
            yield f"<{name}>: core has no clock, thread, I/O or unseeded randomness"
        elif not standard and name not in XXHASH and not name.startswith(CORE_PACKAGES):
            yield f"<{name}>: core has only itself, std, xxHash, RE2, Boost's containers and graphs"
    if part not in ("real", "tests") and name.startswith(("boost/asio", "boost/beast")):
        yield f"<{name}>: only real/ does network I/O"
    system = re.fullmatch(SYSTEM_HEADER, name) is not None and name not in XXHASH
    if part == "sim" and system and not path.startswith("sim/cli/"):
        yield f"<{name}>: system headers belong to real/ and the command lines"
    if path.endswith(".h") and name.startswith("google/protobuf") and not in_protocol(path):
        yield f"<{name}>: no Protobuf in headers outside proto/ and real/"
    if name.startswith(("gtest/", "gmock/", "benchmark/")) and part != "tests":
        yield f"<{name}>: only in tests/"
    for prefix, target in PACKAGES.items():
        if name.startswith(prefix) and owner is not None and target not in allowed:
            yield f"<{name}>: {owner.path} does not reach {target} by its DEPENDS"


def in_protocol(path: str) -> bool:
    return path.startswith(("proto/", "real/"))
