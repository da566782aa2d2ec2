#!/usr/bin/env python3
"""./dev bench: runs the benchmark programs of some groups and holds each value against its reference.

A program is build/release/bin/bench-GROUP-NAME. What it reports is described in tests/bench/report.h.
"""

import argparse
import datetime
import json
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build/release/bin"
RUN_OF_EACH = 3  # the median is taken


def main() -> int:
    groups = sorted({path.name.split("-")[1] for path in BIN.glob("bench-*-*")})
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(groups)}")
    parser.add_argument("--json", action="store_true", help="an array of the results, on stdout")
    parser.add_argument("--filter", default=".", metavar="REGEX", help="only benchmarks that match")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.groups) - set(groups)):
        parser.error(f"no group {', '.join(unknown)}; there are: {', '.join(groups) or 'none'}")

    results = []
    for group in arguments.groups or groups:
        for program in sorted(BIN.glob(f"bench-{group}-*")):
            print(f"running {program.name}", file=sys.stderr)
            prefix = program.name.split("-", 2)[2]
            results += [
                {**result, "name": f"{prefix}/{result['name']}"}
                for result in compare(run(program, arguments.filter))
            ]
    keep(results)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def run(program: pathlib.Path, pattern: str) -> list[dict]:
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run(
            [program, f"--benchmark_out={out.name}", "--benchmark_out_format=json",
             f"--benchmark_repetitions={RUN_OF_EACH}", "--benchmark_min_time=0.1",
             f"--benchmark_filter={pattern}"],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"{program.name} ended with {done.returncode}")
        text = out.read()
    return json.loads(text)["benchmarks"] if text else []  # empty if nothing matches


def compare(runs: list[dict]) -> list[dict]:
    medians = {}
    for entry in runs:
        if entry.get("error_occurred"):
            sys.exit(f"{entry['name']}: {entry['error_message']}")
        if entry.get("aggregate_name") == "median":
            medians[entry["run_name"]] = entry
    return [result_of(name, medians) for name in medians]


def result_of(name: str, medians: dict[str, dict]) -> dict:
    entry = medians[name]
    value, unit, reference = measured(entry)
    reference_value = entry.get("reference")
    if reference and reference_value is None:
        function, _, arguments = name.partition("/")
        candidates = [f"{reference}/{arguments}", reference]
        found = next((medians[c] for c in candidates if c in medians), None)
        if found is None:
            sys.exit(f"{name}: its reference {reference} is no benchmark of this program that ran")
        reference_value, reference_unit, _ = measured(found)
        if reference_unit != unit:
            sys.exit(f"{name} is in {unit}, but its reference {reference} in {reference_unit}")
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "reference": reference,
        "reference_value": reference_value,
        "ratio": value / reference_value if reference_value else None,
    }


def measured(entry: dict) -> tuple[float, str, str | None]:
    """(value, unit, reference)"""
    if "value" in entry:
        unit, _, reference = entry["label"].partition(" vs ")
        return entry["value"], unit, reference or None
    nanoseconds = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[entry["time_unit"]]
    time = "real_time" if "/real_time" in entry["run_name"] else "cpu_time"
    return entry[time] * nanoseconds, "ns", None


def keep(results: list[dict]) -> None:
    """Leaves the results where they can be compared later."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    now = datetime.datetime.now(datetime.timezone.utc)
    folder = ROOT / "build/bench"
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "commit": commit,
        "machine": f"{platform.node()}, {cpu()}",
        "date": now.isoformat(timespec="seconds"),
        "results": results,
    }
    (folder / f"{now:%Y%m%dT%H%M%S}-{commit}.json").write_text(json.dumps(record, indent=2) + "\n")


def cpu() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def as_text(results: list[dict]) -> str:
    lines = []
    for r in results:
        line = f"{r['name']:60} {r['value']:>14,.6g} {r['unit']}"
        if r["ratio"] is not None:
            line += f"   {r['ratio']:.2f} x {r['reference']} ({r['reference_value']:,.6g})"
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
