#!/usr/bin/env python3
"""Checks the protocol's model with Spin, configuration by configuration, against what must come out.

    tests/model/check.py [quick | all | NAME...] [--jobs N]

quick: those that take seconds, which CI runs. all: about half an hour on two cores. A NAME is that of a
configuration, or its beginning ("H3"). --list prints them. findings.md says what each of them is about.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RULES = "TOMB ALLOLD RVK GEN RETMAP REPONCE INC PEREC ORD FILE".split()
SAFE, LEAK, S1, S2, S4, S5 = "holds", "leak", "S1", "S2", "S4", "S5"
MEMORY_MB = 9500
# The first assertion that fails tells which promise is broken.
PROMISES = [
    (re.compile(r"\(\(a==rp\)&&\(b==rp\)\)|rdead|c0|d0==drow"), S1),
    (re.compile(r"assertion violated 0\b"), S2),
    (re.compile(r"DEAD&"), S4),
    (re.compile(r"served\["), S5),
    (re.compile(r"ms\[j\]|assertion violated ok"), LEAK),
]


@dataclasses.dataclass(frozen=True)
class Configuration:
    name: str
    flags: str
    outcome: str  # holds, or the promise that breaks
    model: str = "larder"
    quick: bool = False


def rules(without: str = "") -> str:
    return " ".join(f"-DFIX_{rule}" for rule in RULES if rule not in without.split())


def holds(name, flags, *, quick=False, without=""):
    return Configuration(name, f"{flags} {rules(without)}", SAFE, quick=quick)


def hole(name, without, outcome, flags):
    """With one rule left out, what it prevents must happen."""
    return Configuration(name, f"{flags} {rules(without)}", outcome, quick=True)


ONE = "-DNM=2 -DPPM=1 -DMCRASH"
TWO_EXTENTS = "-DNM=2 -DPPM=2 -DNX=2 -DMCRASH"
TWO_NODES = "-DNM=3 -DPPM=1 -DNN=2 -DNX=2 -DMCRASH"
ZOMBIE = "-DNM=2 -DPPM=1 -DNN=1 -DNX=1 -DZOMBIE -DHIDE -DREMOVE=1 -DRDR"
CHECKED = "-DINVS -DINVF"
CONFIGURATIONS = [
    # H1: a fill that arrives after its own retirement.
    hole("H1a", "TOMB", S4, f"{ONE} -DREMOVE=1 -DRDR -DRECALL -DNONF"),
    hole("H1b", "TOMB", S1, "-DPPM=2 -DEVICT -DTIMEOUT -DRDR -DDISHONEST"),
    hole("H1c", "TOMB", S1, "-DPPM=2 -DREMOVE=1 -DFORCE -DTIMEOUT -DRDR -DNO_S4"),
    hole("H1d", "TOMB", LEAK, "-DPPM=2 -DTIMEOUT -DLIVE"),
    holds("H1", f"-DPPM=3 -DEVICT -DTIMEOUT -DREVOKE -DREMOVE=1 -DFORCE -DRDR -DDISHONEST {CHECKED}", quick=True),
    holds("H1 low mark", f"-DPPM=3 -DLOWMARK -DEVICT -DTIMEOUT -DREVOKE -DREMOVE=1 -DFORCE -DRDR -DDISHONEST {CHECKED}", quick=True),
    holds("H1 low mark, restart", f"-DNM=2 -DPPM=2 -DLOWMARK -DMCRASH -DTIMEOUT -DREMOVE=1 -DRDR {CHECKED}", quick=True),
    holds("H1 low mark, live", "-DPPM=3 -DLOWMARK -DLIVE -DEVICT -DTIMEOUT -DREVOKE -DREMOVE=1", quick=True),
    # H2: what a removal or an upsert must wait for.
    hole("H2a", "ALLOLD", S4, f"{TWO_EXTENTS} -DEVICT -DREMOVE=1 -DRDR -DRECALL"),
    hole("H2b", "ALLOLD", S4, f"{TWO_EXTENTS} -DEVICT -DREMOVE=1 -DRDR -DRECALL -DNONF"),
    hole("H2c", "ALLOLD", S4, f"{TWO_EXTENTS} -DTIMEOUT -DREMOVE=1 -DRDR -DRECALL -DNONF"),
    hole("H2d", "ALLOLD", S4, f"{TWO_EXTENTS} -DEVICT -DUPSERT -DRDR -DRECALL"),
    holds("H2 remove", f"{TWO_EXTENTS} -DEVICT -DREMOVE=1 -DRDR {CHECKED}"),
    holds("H2 timed out", f"{TWO_EXTENTS} -DTIMEOUT -DREMOVE=1 -DRDR {CHECKED}"),
    holds("H2 upsert", f"{TWO_EXTENTS} -DEVICT -DUPSERT -DRDR {CHECKED}"),
    # H3: a node that reports after recovery has ended, or an epoch too late.
    hole("H3a", "GEN", S4, "-DNM=2 -DPPM=2 -DNN=2 -DNX=2 -DMCRASH -DREMOVE=1 -DRDR -DNONF"),
    hole("H3b", "GEN", S4, f"{TWO_NODES} -DREMOVE=1 -DRDR -DFIX_LATE"),
    hole("H3c", "", S4, f"{TWO_NODES} -DREMOVE=1 -DRDR -DGEN_NAIVE"),
    holds("H3 three epochs", f"{TWO_NODES} -DREMOVE=1 -DRDR {CHECKED}", quick=True),
    holds("H3 kept list", f"{TWO_NODES} -DREMOVE=1 -DRDR -DFIX_LATE -DFIX_LATE2", without="GEN"),
    holds("H3 four puts", f"-DNM=2 -DPPM=2 -DNN=2 -DNX=2 -DMCRASH -DREMOVE=1 -DEVICT -DRDR {CHECKED}"),
    # H4: a revoke during recovery.
    hole("H4a", "RVK", S4, f"{ONE} -DREVOKE -DRDR -DRECALL"),
    holds("H4", f"-DNM=2 -DPPM=2 -DMCRASH -DREVOKE -DTIMEOUT -DRDR {CHECKED}", quick=True),
    # H5: the end of an upsert, repeated at the next master.
    hole("H5a", "PEREC", S4, f"{TWO_NODES} -DNCRASH=1 -DUPSERT -DRDR -DRECALL"),
    holds("H5", f"{TWO_NODES} -DNCRASH=1 -DUPSERT -DRDR -DRECALL {CHECKED}"),
    # H6: reports that come twice, or are overtaken.
    hole("H6a", "REPONCE", S2, "-DNM=2 -DPPM=2 -DNK=2 -DMCRASH -DEVICT -DDUPREP -DINVS"),
    hole("H6b", "REPONCE", S4, f"{ONE} -DREMOVE=1 -DRDR -DDUPREP"),
    hole("H6c", "ORD", S4, "-DPPM=1 -DNCRASH=1 -DNFILE -DREMOVE=1 -DTCP"),
    holds("H6", f"-DNM=2 -DPPM=2 -DMCRASH -DREMOVE=1 -DEVICT -DRDR -DDUPREP {CHECKED}", quick=True),
    holds("H6 two keys", f"-DNM=2 -DPPM=2 -DNK=2 -DMCRASH -DEVICT -DDUPREP {CHECKED}", quick=True),
    # H7: a grant outlives the node's incarnation.
    hole("H7a", "INC", S1, "-DNM=1 -DPPM=2 -DNCRASH=1 -DTIMEOUT -DRDR -DINVS"),
    hole("H7b", "INC", S1, f"{ONE} -DNCRASH=1 -DREMOVE=1 -DRDR -DNONF"),
    hole("H7c", "INC", LEAK, "-DNM=1 -DPPM=2 -DNCRASH=1 -DTIMEOUT -DLIVE"),
    holds("H7", f"-DNM=2 -DPPM=2 -DMCRASH -DNCRASH=1 -DTIMEOUT -DREMOVE=1 -DRDR {CHECKED}", quick=True),
    # H8: a lost incarnation's FILE content comes back under a new one.
    hole("H8a", "FILE", S4, "-DPPM=1 -DNCRASH=1 -DNFILE -DHIDE -DREMOVE=1 -DTCP"),
    holds("H8", "-DNM=2 -DPPM=1 -DNCRASH=1 -DNFILE -DHIDE -DMCRASH -DREMOVE=1 -DTCP -DINVS", quick=True),
    holds("H8 two nodes", "-DNM=2 -DPPM=1 -DNN=2 -DNX=2 -DNCRASH=1 -DNFILE -DMCRASH -DREMOVE=1 -DEVICT -DTCP -DINVS"),
    # H9: a retirement under way at a change of the master.
    hole("H9a", "RETMAP", S1, f"{ONE} -DEVICT -DTCP -DDISHONEST"),
    holds("H9 honest clocks", f"{ONE} -DEVICT -DTCP", without="RETMAP", quick=True),
    holds("H9", f"-DNM=2 -DPPM=2 -DMCRASH -DEVICT -DTIMEOUT -DTCP -DDISHONEST {CHECKED}", quick=True),
    # H10: two masters at once.
    hole("H10a", "", S4, f"{ZOMBIE} -DNONF"),
    hole("H10b", "", S1, f"{ZOMBIE} -DFIX_FENCE"),
    hole("H10c", "", S1, f"{ZOMBIE} -DFIX_FENCE -DNONF"),
    holds("H10d", f"{ZOMBIE} -DFIX_MLEASE {CHECKED}", quick=True),
    holds("H10e", f"{ZOMBIE} -DFIX_FENCE -DFIX_MLEASE {CHECKED}", quick=True),
    hole("H10f", "", S1, "-DNM=2 -DPPM=1 -DNN=2 -DNX=2 -DZOMBIE -DNCRASH=1 -DUPSERT -DRDR -DFIX_FENCE"),
    holds("H10g", f"-DNM=2 -DPPM=1 -DNN=2 -DNX=2 -DZOMBIE -DNCRASH=1 -DUPSERT -DRDR -DFIX_FENCE -DFIX_MLEASE {CHECKED}"),
    holds("H10h", f"-DNM=2 -DPPM=2 -DNN=1 -DNX=2 -DZOMBIE -DRECALL -DUPSERT -DRDR {CHECKED}", quick=True),
    # H11: epochs. H12: the order of writes of a FILE segment.
    Configuration("H11a", "", S5, "epoch", quick=True),
    Configuration("H11", "-DINST", SAFE, "epoch", quick=True),
    Configuration("H11 etcd", "-DETCD", SAFE, "epoch", quick=True),
    Configuration("H11b", "", LEAK, "epochlive", quick=True),
    Configuration("H11 kept", "-DKEEP", SAFE, "epochlive", quick=True),
    Configuration("H12a", "", S1, "filecrash", quick=True),
    Configuration("H12b", "-DROWFIRST_SYNC", S1, "filecrash", quick=True),
    Configuration("H12c", "-DDATA_SYNC", S1, "filecrash", quick=True),
    Configuration("H12", "-DROWFIRST_SYNC -DDATA_SYNC", SAFE, "filecrash", quick=True),
    # Hidden and lost nodes, one master.
    holds("K1", f"-DNM=1 -DPPM=2 -DNN=2 -DNX=2 -DHIDE -DEVICT -DREMOVE=1 -DRDR {CHECKED}"),
    holds("K2", f"-DNM=1 -DPPM=2 -DNN=2 -DNX=2 -DHIDE -DUPSERT -DTIMEOUT -DRDR {CHECKED}"),
    holds("K3", f"-DNM=2 -DPPM=1 -DNN=2 -DNX=2 -DHIDE -DMCRASH -DREMOVE=1 -DRDR {CHECKED}"),
    # Once faults stop, every extent is free on both sides or holds an object of the directory.
    holds("V1", "-DLIVE -DPPM=3 -DEVICT -DTIMEOUT -DREVOKE -DREMOVE=1", quick=True),
    holds("V2", "-DLIVE -DNM=2 -DPPM=2 -DNX=2 -DMCRASH -DEVICT -DTIMEOUT -DREMOVE=1", quick=True),
    holds("V3", "-DLIVE -DNM=2 -DPPM=2 -DNX=2 -DMCRASH -DUPSERT -DREVOKE"),
    holds("V4", "-DLIVE -DNM=1 -DPPM=2 -DNN=2 -DNX=2 -DHIDE -DEVICT -DTIMEOUT -DREMOVE=1", quick=True),
    holds("V5", "-DLIVE -DNM=2 -DPPM=1 -DNN=2 -DNX=2 -DNCRASH=1 -DMCRASH -DEVICT -DTIMEOUT", quick=True),
    holds("V6", "-DLIVE -DNM=2 -DPPM=1 -DNN=2 -DNX=2 -DZOMBIE -DEVICT -DTIMEOUT -DREMOVE=1 -DFIX_MLEASE", quick=True),
    # Everything at once that can be exhausted.
    holds("Z1", f"-DNM=2 -DPPM=2 -DNX=1 -DMCRASH -DNCRASH=1 -DEVICT -DTIMEOUT -DREMOVE=1 -DFORCE -DRDR -DDISHONEST {CHECKED}"),
    holds("Z3", f"-DNM=2 -DPPM=1 -DNN=2 -DNX=2 -DHIDE -DMCRASH -DEVICT -DTIMEOUT -DREMOVE=1 -DRDR -DDISHONEST {CHECKED}"),
    holds("Z5", f"-DNM=2 -DPPM=2 -DNX=1 -DMCRASH -DNCRASH=1 -DEVICT -DTIMEOUT -DREMOVE=1 -DFORCE -DTCP -DDISHONEST {CHECKED}"),
    holds("Z6", f"-DNM=1 -DPPM=3 -DNX=2 -DNK=2 -DEVICT -DTIMEOUT -DREMOVE=1 -DRDR -DDISHONEST {CHECKED}", quick=True),
]  # fmt: skip


@dataclasses.dataclass
class Verdict:
    outcome: str  # holds, a promise, or what went wrong
    states: str = "-"
    seconds: float = 0


def run(configuration: Configuration, seconds_max: float) -> Verdict:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="larder-model-") as folder:
        verdict = search(configuration, folder, seconds_max)
    verdict.seconds = time.monotonic() - start
    return verdict


def search(configuration: Configuration, folder: str, seconds_max: float) -> Verdict:
    flags = configuration.flags.split()
    source = str(HERE / f"{configuration.model}.pml")
    made = command(["spin", "-a", *flags, source], folder)
    if made.returncode != 0 or not os.path.exists(f"{folder}/pan.c"):
        return Verdict(f"spin failed: {made.stdout[-300:]}")
    built = command(
        ["clang-19", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=4096", f"-DMEMLIM={MEMORY_MB}",
         "-o", "pan", "pan.c"],
        folder,
    )  # fmt: skip
    if built.returncode != 0:
        return Verdict(f"the compiler failed: {built.stdout[:300]}")
    try:
        said = command(["./pan", "-m200000"], folder, seconds_max).stdout
    except subprocess.TimeoutExpired:
        return Verdict(f"not exhausted within {seconds_max:.0f} s")
    found = re.search(r"([\d.e+]+) states, stored", said)
    return Verdict(outcome_of(said), found[1] if found else "-")


def outcome_of(said: str) -> str:
    if broken := re.search(r"pan:1: (.*)", said):
        for pattern, promise in PROMISES:
            if pattern.search(broken[1]):
                return promise
        return f"unknown: {broken[1][:100]}"
    if re.search(r"out of memory|max search depth too small|Search not completed", said):
        return "not exhausted"
    return SAFE if re.search(r"errors: 0\b", said) else f"no verdict: {said[-300:]}"


def command(words, folder, timeout=None):
    return subprocess.run(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout
    )


def chosen(names: list[str]) -> list[Configuration]:
    if not names or names == ["quick"]:
        return [configuration for configuration in CONFIGURATIONS if configuration.quick]
    if names == ["all"]:
        return CONFIGURATIONS
    found = [c for c in CONFIGURATIONS if any(c.name.startswith(name) for name in names)]
    if not found:
        sys.exit(f"no configuration is called {', '.join(names)}; --list shows them")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="quick (default), all, or names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--seconds", type=float, default=900, help="limit of each search")
    parser.add_argument("--list", action="store_true", help="print the configurations")
    arguments = parser.parse_args()
    configurations = chosen(arguments.names)
    if arguments.list:
        for each in CONFIGURATIONS:
            print(f"{each.name:<22}{each.outcome:<8}{'quick' if each.quick else '':<7}{each.flags}")
        return 0

    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = pool.map(lambda each: run(each, arguments.seconds), configurations)
        for configuration, verdict in zip(configurations, verdicts):
            right = verdict.outcome == configuration.outcome
            wrong += not right
            told = "" if right else f"  WRONG: must be {configuration.outcome}"
            print(
                f"{configuration.name:<22}{verdict.outcome:<8}{verdict.states:>12} states"
                f"{verdict.seconds:8.1f} s{told}",
                flush=True,
            )
    print(f"{len(configurations)} configurations, {wrong} with another outcome than they must have")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
