"""./dev lint: what the compiler cannot check. Each check prints its findings; any finding fails."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

import includes
import sources
import statements
import symbols
import table
import tidy
import words

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
# Of what clang-tidy has not seen. In CI, where nothing is kept, all would take longer than the tests.
TIDY_MOST = int(os.environ["LARDER_TIDY_MOST"]) if "LARDER_TIDY_MOST" in os.environ else None
WORKERS = int(os.environ.get("LARDER_JOBS") or os.cpu_count() or 1)


def command(*words_: str) -> list[str]:
    result = subprocess.run(words_, cwd=ROOT, capture_output=True, text=True)
    return [] if result.returncode == 0 else [(result.stdout + result.stderr).strip()]


def check_includes() -> list[str]:
    return includes.check(ROOT, table.Table(table.read(ROOT)))


def check_words() -> list[str]:
    errors, warnings = words.check(ROOT)
    for warning in warnings:
        print("  warning:", warning)
    return errors


def check_statements() -> list[str]:
    return statements.check(ROOT)


def check_format() -> list[str]:
    found = command("clang-format-19", "--dry-run", "--Werror", *sources.files(ROOT))
    places = re.findall(r"^(\S+:\d+):\d+: error", "".join(found), re.MULTILINE)
    return list(dict.fromkeys(places)) or found


def check_headers() -> list[str]:
    configured = command("cmake", "--preset", "release", "--log-level=WARNING")
    target = "all_verify_interface_header_sets"
    return configured or command(
        "cmake", "--build", "--preset", "release", "-j", str(WORKERS), "--target", target
    )


def check_symbols() -> list[str]:
    folders = [e.path for e in table.read(ROOT) if e.path.startswith("core/")]
    libraries = [f.replace("/", "_") for f in folders if list((ROOT / f).glob("*.cpp"))]
    built = command(
        "cmake", "--build", "--preset", "release", "-j", str(WORKERS), "--target", *libraries
    )
    return built or symbols.check([BUILD / f"lib{name}.a" for name in libraries])


def check_tidy() -> list[str]:
    errors, looked_at = tidy.check(ROOT, BUILD, WORKERS, TIDY_MOST)
    print(f"  {looked_at} files looked at" + (", the others are unchanged since they passed" if TIDY_MOST is None else
          ": the last changed ones, and some of the others"))  # fmt: skip
    return errors


CHECKS = {
    "who includes whom": check_includes,
    "words": check_words,
    "statements have tests": check_statements,
    "format (./dev fmt repairs it)": check_format,
    "headers compile alone": check_headers,
    "what core's archives use": check_symbols,
    "clang-tidy": check_tidy,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev lint", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"first words of: {'; '.join(CHECKS)}")
    wanted = parser.parse_args().checks
    for each in wanted:
        if not any(name.startswith(each) for name in CHECKS):
            parser.error(f"no check '{each}'; there are: {'; '.join(CHECKS)}")
    failed = []
    for name, check in CHECKS.items():
        if wanted and not name.startswith(tuple(wanted)):
            continue
        start = time.monotonic()
        errors = check()
        verdict = "FAILED" if errors else "ok"
        print(f"{name}: {verdict}, {time.monotonic() - start:.1f} s", flush=True)
        for error in errors:
            print(error, flush=True)
        if errors:
            failed.append(name)
    if failed:
        print("lint failed:", "; ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
