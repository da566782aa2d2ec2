"""What a look at the text finds."""

import pathlib
import re

import sources

UNFINISHED = re.compile(r"\b(T[O]DO|F[I]XME|X{3})\b")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")
DISTRIBUTION = re.compile(r"\bstd::\w+_distribution\b")
UNSEEDED = re.compile(r"\brandom_device\b|\b(std::)?s?rand\s*\(")
CLOCK = re.compile(r"_clock::now\b|\bclock_gettime\b|\bgettimeofday\b")
LINES_MAX = {".cpp": 600, ".h": 250}


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """(errors, warnings)"""
    errors, warnings = [], []
    for path in sources.files(root):
        lines = sources.text(root, path).splitlines()
        for number, line in enumerate(lines, 1):
            errors += [f"{path}:{number}: {text}" for text in check_line(path, line)]
        limit = LINES_MAX[pathlib.PurePath(path).suffix]
        if len(lines) > limit:
            warnings.append(f"{path}: {len(lines)} lines (of this kind: about {limit} at most)")
    return errors, warnings


def check_line(path: str, line: str):
    if match := UNFINISHED.search(line):
        yield f"{match[0]}: finish it, or write it down outside the source"
    code = line.partition("//")[0]
    if path.startswith("tests/") and not path.startswith(("tests/integration/", "tests/chaos/")):
        if match := SLEEP.search(code):
            yield f"{match[0]}): tests never sleep; move `now`"
    if path.startswith(("core/", "sim/", "workloads/")):
        if match := DISTRIBUTION.search(code):
            yield f"{match[0]}: differs between standard libraries; use core/base/random.h"
        if match := UNSEEDED.search(code):
            yield f"{match[0]}: unseeded; use core/base/random.h"
        # A command line may say how long it took.
        if not path.startswith(("sim/cli/", "sim/main.cpp")) and (match := CLOCK.search(code)):
            yield f"{match[0]}: time is an argument"
