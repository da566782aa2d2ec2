#!/usr/bin/env python3
"""./dev demo: a real pool and the simulated one serve the same trace, and must decide the same.

Starts a master and two nodes as processes on loopback, replays the trace with real bytes, then
replays the same requests in the simulator, and shows both side by side.
"""

import argparse
import contextlib
import json
import pathlib
import select
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "workloads/samples/sessions.jsonl"
NODES = 2
READY_SECONDS = 30  # for a process to say its endpoint; a node maps its memory first
END_SECONDS = 10


class Failed(Exception):
    """With the sentence for the person who started the demo."""


def main() -> int:
    arguments = parse_arguments()
    # A terminal that closes and a kill end the demo as ctrl-c does, with all that it started.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        return run(arguments)
    except Failed as failure:
        print(f"./dev demo: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("./dev demo: stopped", file=sys.stderr)
        return 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0][12:])
    parser.add_argument("trace", nargs="*", metavar="TRACE", type=pathlib.Path,
                        help="a Mooncake trace or agentic sessions; without one, the shipped "
                             "sample")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=60, metavar="N",
                        help="no request begins later (default: 60)")  # fmt: skip
    parser.add_argument("--memory", default="256MiB", metavar="SIZE",
                        help="of each of the two nodes (default: 256MiB)")  # fmt: skip
    parser.add_argument("--page-bytes", default="1MiB", metavar="SIZE",
                        help="the KV cache of a block of the trace (default: 1MiB)")  # fmt: skip
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/demo", metavar="DIR",
                        help="for the results and logs (default: build/demo)")  # fmt: skip
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin",
                        metavar="DIR", help=argparse.SUPPRESS)  # fmt: skip
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> int:
    out, traces = arguments.out, arguments.trace or [SAMPLE]
    out.mkdir(parents=True, exist_ok=True)
    for old in ("real.json", "sim.json", "report.html"):
        (out / old).unlink(missing_ok=True)
    larder, simulator = arguments.bin / "larder", arguments.bin / "larder-sim"
    serving = [*traces, "--page-bytes", arguments.page_bytes, "--out", out]
    known = json.loads(call([simulator, "trace", "stats", *traces, "--json"]))["requests"]
    if known == 0:
        raise Failed("the trace has no requests")

    with Pool(larder, arguments.memory, out) as pool:
        print(f"one master and {NODES} nodes of {arguments.memory} serve at {pool.master}")
        call([larder, "replay", *serving, "--master", pool.master,
              "--requests-max", known, "--seconds", arguments.seconds])  # fmt: skip
    served = json.loads((out / "real.json").read_text())["requests"]
    if served == 0:
        raise Failed("not one request was served in this time")

    print(f"the same {served} requests in the simulator")
    call([simulator, "lockstep", *serving, "--nodes", NODES, "--memory", arguments.memory,
          "--requests-max", served])  # fmt: skip

    print()
    report = out / "report.html"
    compared = subprocess.run([simulator, "compare", out / "real.json", out / "sim.json",
                               "--html", report])  # fmt: skip
    if report.exists():
        print(f"\nReport: {report}")
    return compared.returncode


def call(command: list) -> str:
    """Gives what it prints; its progress and errors come on stderr."""
    command = [str(part) for part in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed(f"{pathlib.Path(command[0]).name} {command[1]} failed")
    return done.stdout


@contextlib.contextmanager
def uninterrupted():
    """A signal that comes meanwhile takes effect afterwards: no process is started and forgotten."""
    came = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in came[:1]:
        signal.raise_signal(number)


class Pool:
    """A master in lock step and its nodes; all are ended when the block is left."""

    def __init__(self, larder: pathlib.Path, memory: str, logs: pathlib.Path):
        self.larder, self.memory, self.logs = larder, memory, logs
        self.processes: list[tuple[str, subprocess.Popen]] = []

    def __enter__(self):
        try:
            self.master = self.start("master", "master", "--lock-step")
            # One after the other, since their order decides where pages go.
            for number in range(NODES):
                self.start(f"node{number}", "node", "--master", self.master,
                           "--memory", self.memory, "--name", f"node{number}")  # fmt: skip
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, kind, *_):
        failures = self.end()
        if kind is None and failures:
            raise Failed(f"ended badly: {', '.join(failures)}; see {self.logs}/*.log")

    def start(self, name: str, *command: str) -> str:
        """Gives its endpoint, when it serves."""
        log = self.logs / f"{name}.log"
        with log.open("w") as stderr, uninterrupted():
            process = subprocess.Popen(
                [self.larder, *command, "--listen", "127.0.0.1:0", "--json"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True,
                start_new_session=True,  # ctrl-c is for the demo, which then ends them in order
            )  # fmt: skip
            self.processes.append((name, process))
        ready, _, _ = select.select([process.stdout], [], [], READY_SECONDS)
        line = process.stdout.readline() if ready else ""
        if not line:
            raise Failed(f"{name} did not start: {log.read_text().strip() or 'it said nothing'}")
        return json.loads(line)["endpoint"]

    def end(self) -> list[str]:
        """The nodes first. Names those that did not end as they should."""
        failures = []
        with uninterrupted():
            for name, process in reversed(self.processes):
                process.terminate()
                try:
                    if process.wait(END_SECONDS) != 0:
                        failures.append(f"{name} (exit code {process.returncode})")
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    failures.append(f"{name} (did not stop)")
            self.processes.clear()
        return failures


if __name__ == "__main__":
    sys.exit(main())
