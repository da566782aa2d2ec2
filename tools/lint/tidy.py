"""clang-tidy with .clang-tidy. A file that passed is not looked at again until it, a header of ours
that it includes, its compile command or .clang-tidy changes: the passes are kept by hash, outside
the build folder, so that all checkouts share them."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess

import sources

TIDY = "clang-tidy-19"


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "larder-tidy"


def check(root: pathlib.Path, build: pathlib.Path, workers: int) -> tuple[list[str], int]:
    """(errors, how many files were looked at)"""
    commands = json.loads((build / "compile_commands.json").read_text())
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
    errors = []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for path, output in zip(todo, pool.map(lambda p: run(root, build, p), todo)):
            if output:
                errors.append(output)
            else:
                todo[path].touch()
    return errors, len(todo)


def key(root: pathlib.Path, path: str, command: str) -> str:
    digest = hashlib.sha256()
    digest.update(command.replace(str(root), "").encode())
    for name in [".clang-tidy", *sources.closure(root, path)]:
        digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()


def run(root: pathlib.Path, build: pathlib.Path, path: str) -> str:
    """What clang-tidy complains about; empty if nothing."""
    result = subprocess.run(
        [TIDY, "--quiet", "-p", build, root / path], capture_output=True, text=True, cwd=root
    )
    return "" if result.returncode == 0 else (result.stdout + result.stderr).strip()
