"""clang-tidy with .clang-tidy. A file that passed is not looked at again until it, a header of ours
that it includes, its compile command or .clang-tidy changes: the passes are kept by hash, outside
the build folder, so that all checkouts share them. Files are compiled without the precompiled headers, so that
one that does not include what it uses is noticed here."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

import sources

TIDY = "clang-tidy-19"
PRECOMPILED = re.compile(r"-Xclang -include-pch -Xclang \S+ ")


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "larder-tidy"


def check(root: pathlib.Path, build: pathlib.Path, workers: int, most: int | None) -> tuple[list[str], int]:
    """(errors, how many files were looked at): `most` of those that need it, the last changed first, and then
    some that the commit draws."""
    commands = json.loads(PRECOMPILED.sub("", (build / "compile_commands.json").read_text()))
    passes = cache_folder()
    passes.mkdir(parents=True, exist_ok=True)
    todo = {}
    ours = set(sources.files(root))
    for entry in commands:
        path = os.path.relpath(entry["file"], root)
        if path in ours and not path.startswith("tests/"):  # they take longer than all the rest
            mark = passes / key(root, path, entry["command"])
            if not mark.exists():
                todo[path] = mark
    if most is not None:
        todo = {path: todo[path] for path in in_turn(root, sorted(todo))[:most]}
    errors = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        (pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps(commands))
        for path, output in zip(todo, pool.map(lambda p: run(root, folder, p), todo)):
            if output:
                errors.append(output)
            else:
                todo[path].touch()
    return errors, len(todo)


def in_turn(root: pathlib.Path, paths: list[str]) -> list[str]:
    """A tenth of the places is for what nobody has touched lately."""
    log = ["git", "log", "-n", "200", "--name-only", "--format="]
    named = subprocess.run(log, cwd=root, capture_output=True, text=True).stdout.splitlines()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True).stdout
    known = set(paths)
    changed = [path for path in dict.fromkeys(named) if path in known]
    others = [path for path in paths if path not in set(changed)]
    random.Random(head).shuffle(others)
    turn = []
    while changed or others:
        turn += changed[:9] + others[:1]
        changed, others = changed[9:], others[1:]
    return turn


def key(root: pathlib.Path, path: str, command: str) -> str:
    digest = hashlib.sha256()
    digest.update(command.replace(str(root), "").encode())
    for name in [".clang-tidy", *sources.closure(root, path)]:
        digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()


def run(root: pathlib.Path, commands: str, path: str) -> str:
    """What clang-tidy complains about, with the commands in that folder; empty if nothing."""
    result = subprocess.run(
        [TIDY, "--quiet", "-p", commands, root / path], capture_output=True, text=True, cwd=root
    )
    return "" if result.returncode == 0 else (result.stdout + result.stderr).strip()
