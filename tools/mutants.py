#!/usr/bin/env python3
"""./dev mutants: plants one fault after the other in a copy of the tree, and sees whether the tests notice.

A mutant is a patch of tests/mutants; its first line says which rule it leaves out, and a line "Scenario: NAME"
which of tests/scenarios must fail with it. Its copy of the tree is build/mutants/tree, of which only what the
killers need is built. Killers, with at most 60 s of processor time each: the unit tests of core/ and sim/cluster,
the scenarios, the model test and larder-sim explore. First the copy is tried as it is: no killer may complain. A
mutant that takes a program five times as long as that, and 20 s, hangs, which is noticed. A mutant that survives
all of them, or its own scenario, means that a test is missing: exit code 1.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATCHES = ROOT / "tests/mutants"
TREE = ROOT / "build/mutants/tree"
REPORT = ROOT / "build/mutants/report.json"
PAGE = ROOT / "docs/mutants.md"
SCENARIOS = "tests/scenarios"
BIN = TREE / "build/release/bin"
BUDGET_SECONDS = 60  # of processor time, so that what else the machine does is no part of it
UNIT_TESTS = [
    f"test_unit_{name}"
    for name in ("core_catalog", "core_space", "core_eviction", "core_node", "core_client", "core_master",
                 "sim_cluster")
]  # fmt: skip
TARGETS = [*UNIT_TESTS, "test_property", "larder-sim"]
SEEDS_AT_ONCE = 50
KILLERS = ["unit tests", "scenarios", "model test", "explore"]
PAGE_HEAD = """# Mutants

What `./dev mutants --all-killers --write` found: for each mutant of tests/mutants (a patch that leaves out one
rule) how long each killer took to notice it, in seconds of processor time; `–`: not within 60 s. Behind what is left out stand the scenarios of tests/scenarios that fail with it.

"""


@dataclasses.dataclass
class Verdict:
    mutant: str
    says: str
    killed_by: dict[str, float]  # killer -> seconds that it took
    survived: list[str]
    scenario: str = ""  # that must fail
    failed_scenarios: list[str] = dataclasses.field(default_factory=list)
    problem: str = ""

    @property
    def killed(self) -> bool:
        return bool(self.killed_by) and not self.problem


def run(words, cpu_seconds=None, cwd=TREE) -> subprocess.CompletedProcess | None:
    """None: it took more than that of processor time, or ten times as long by the clock (it waits for nothing)."""
    environment = {
        **os.environ,
        "RC_PARAMS": os.environ.get("RC_PARAMS", "seed=1"),
        "GIT_CEILING_DIRECTORIES": str(TREE.parent),  # the copy is no part of our repository
    }

    def limit():
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 2))

    try:
        done = subprocess.run(
            words, cwd=cwd, env=environment, timeout=cpu_seconds and 10 * cpu_seconds, text=True, preexec_fn=limit,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else done


def cpu_used() -> float:
    """Seconds of all that was run and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


USUAL: dict[str, float] = {}  # processor time of each check on the tree as it is


def fails(check: str, words) -> bool:
    """Whether it complains, or hangs."""
    before = cpu_used()
    done = run(words, max(20.0, 5 * USUAL[check]) if check in USUAL else 600.0)
    USUAL.setdefault(check, cpu_used() - before)
    return done is None or done.returncode != 0


def make_tree() -> None:
    """The tracked files as they are, at the same path each time so that only changes are built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for old in TREE.rglob("*"):
        name = old.relative_to(TREE).as_posix()
        if old.is_file() and not name.startswith("build/") and name not in wanted:
            old.unlink()
    for name in wanted:
        source, copy = ROOT / name, TREE / name
        if copy.is_file() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)


def build(jobs: int) -> str:
    """What went wrong, if anything."""
    configured = run(["cmake", "--preset", "release", "--log-level=WARNING"])
    if configured.returncode != 0:
        return configured.stdout
    built = run(["cmake", "--build", "--preset", "release", "-j", str(jobs), "--target", *TARGETS])
    return "" if built.returncode == 0 else built.stdout[-2000:]


def unit_tests() -> bool:
    begin = cpu_used()
    for name in UNIT_TESTS:
        if cpu_used() - begin > BUDGET_SECONDS:
            return False
        if fails(name, [BIN / name, "--gtest_brief=1"]):
            return True
    return False


def model_test() -> bool:
    return fails("model test", [BIN / "test_property", "--gtest_brief=1"])


def failed_scenarios() -> list[str]:
    """Those of tests/scenarios that break an invariant, or do not end."""
    failed = []
    begin = cpu_used()
    for file in sorted((ROOT / SCENARIOS).glob("*.scenario")):
        if cpu_used() - begin > BUDGET_SECONDS:
            break
        if fails(file.stem, [BIN / "larder-sim", "explore", "--scenario", file, "--shrink", "0"]):
            failed.append(file.stem)
    return failed


def explore(first_seed: int, budget=BUDGET_SECONDS) -> bool:
    begin = cpu_used()
    seed = first_seed
    while cpu_used() - begin < budget:
        words = [BIN / "larder-sim", "explore", "--first", str(seed), "--seeds", str(SEEDS_AT_ONCE), "--shrink", "0"]
        if fails("explore", words):
            return True
        seed += SEEDS_AT_ONCE
    return False


def complaints(first_seed: int) -> list[str]:
    """What is said of the tree as it is, which must be nothing; and how long each check takes there."""
    found = [name for name, noticed in (("unit tests", unit_tests()), ("model test", model_test()),
                                        ("explore", explore(first_seed, 1))) if noticed]  # fmt: skip
    return found + failed_scenarios()


def try_mutant(patch: pathlib.Path, arguments) -> Verdict:
    head = patch.read_text().split("\n--- ", 1)[0].split("\n")
    verdict = Verdict(patch.stem, head[0], {}, [])
    verdict.scenario = next((line.split()[1] for line in head if line.startswith("Scenario: ")), "")
    make_tree()
    applied = run(["git", "apply", str(patch)])
    if applied.returncode != 0:
        verdict.problem = f"it does not apply any more: {applied.stdout.strip()}"
        return verdict
    if problem := build(arguments.jobs):
        verdict.problem = f"it does not compile: {problem}"
        return verdict
    killers = {
        "unit tests": unit_tests,
        "scenarios": lambda: bool(verdict.failed_scenarios),
        "model test": model_test,
        "explore": lambda: explore(arguments.first_seed),
    }
    start = cpu_used()
    verdict.failed_scenarios = failed_scenarios()
    scenarios_took = cpu_used() - start
    if verdict.scenario and verdict.scenario not in verdict.failed_scenarios:
        verdict.problem = f"the scenario {verdict.scenario} passes all the same"
    for name, killer in killers.items():
        start = cpu_used()
        if killer():
            took = scenarios_took if name == "scenarios" else cpu_used() - start
            verdict.killed_by[name] = round(took, 1)
            if not arguments.all_killers:
                break
        else:
            verdict.survived.append(name)
    return verdict


def tell(verdict: Verdict) -> None:
    if verdict.problem:
        end = f"PROBLEM: {verdict.problem}"
    elif verdict.killed:
        end = ", ".join(f"{name} in {seconds} s" for name, seconds in verdict.killed_by.items())
        if verdict.survived:
            end += f"; not by: {', '.join(verdict.survived)}"
    else:
        end = "SURVIVES"
    print(f"{verdict.mutant:<42}{end}", flush=True)


def page(verdicts: list[dict]) -> str:
    """A row for each mutant: what each killer took to notice it."""
    lines = ["| mutant | what is left out | " + " | ".join(KILLERS) + " |", "|" + "---|" * (2 + len(KILLERS))]
    for verdict in verdicts:
        cells = [f"{verdict['killed_by'][name]} s" if name in verdict["killed_by"] else
                 "–" if name in verdict["survived"] else "not run" for name in KILLERS]  # fmt: skip
        if verdict["failed_scenarios"]:
            cells[1] += ": " + ", ".join(verdict["failed_scenarios"])
        lines.append(f"| {verdict['mutant']} | {verdict['says']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_page(verdicts: list[dict]) -> None:
    PAGE.write_text(PAGE_HEAD + page(verdicts))


def remember(verdict: Verdict) -> list[dict]:
    """The newest verdict of each mutant that still exists, also those of earlier calls."""
    known = {old["mutant"]: old for old in json.loads(REPORT.read_text())} if REPORT.exists() else {}
    known[verdict.mutant] = dataclasses.asdict(verdict)
    all_known = [known[name] for name in sorted(known) if (PATCHES / f"{name}.patch").exists()]
    REPORT.write_text(json.dumps(all_known, indent=2))
    return all_known


def chosen(arguments) -> list[pathlib.Path]:
    patches = sorted(PATCHES.glob("*.patch"))
    if arguments.names:
        wanted = [patch for patch in patches if patch.stem in arguments.names]
        if unknown := set(arguments.names) - {patch.stem for patch in wanted}:
            sys.exit(f"no mutant {', '.join(sorted(unknown))}; tests/mutants has {len(patches)}")
        return wanted
    if arguments.draw:
        return random.Random(arguments.first_seed).sample(patches, arguments.draw)
    return patches


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="only N, drawn by --seed")
    parser.add_argument("--seed", type=lambda text: int(text, 16) % 2**63, default=1, dest="first_seed",
                        metavar="HEX", help="of the draw, and the first one of explore: a commit, say")  # fmt: skip
    parser.add_argument("--all-killers", action="store_true",
                        help="go on after the first that kills, to know which of them would")  # fmt: skip
    parser.add_argument("--write", action="store_true",
                        help=f"write {PAGE.relative_to(ROOT)}: those of this call, and what the "
                        "report of earlier ones says of the others")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once")
    arguments = parser.parse_args()
    patches = chosen(arguments)

    make_tree()
    if problem := build(arguments.jobs):
        sys.exit(f"the tree itself does not build:\n{problem}")
    if found := complaints(arguments.first_seed):
        sys.exit(f"the tree as it is does not pass: {', '.join(found)}")
    verdicts = []
    for number, patch in enumerate(patches, 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{number} of {len(patches)}: {patch.stem}", end="\r", file=sys.stderr)
        verdicts.append(try_mutant(patch, arguments))
        known = remember(verdicts[-1])
        tell(verdicts[-1])
    make_tree()
    if arguments.write:
        write_page(known)
    bad = [verdict.mutant for verdict in verdicts if not verdict.killed]
    print(f"{len(verdicts)} mutants, {len(verdicts) - len(bad)} killed; report: {REPORT.relative_to(ROOT)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
