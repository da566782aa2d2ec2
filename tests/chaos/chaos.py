#!/usr/bin/env python3
"""./dev chaos: a pool of processes under faults, and a check of every byte that its clients read.

A master, four nodes and eight clients run as processes. A controller kills, stops and restarts them and
cuts and freezes the connections to the master, through proxies. Each client writes down what it put, got
and removed; afterwards these records are held against each other:

- each get gave exactly the bytes of one put of its key, one that had begun before the get ended;
- none gave a value that an acknowledged upsert or removal had replaced before the get began;
- when the faults are over everybody works again;
- what is readable then, and some values put then, for which there is room, are all readable after one
  more restart of the master, byte for byte (before, a get may miss: nodes die, and values are evicted);
- when all keys are removed no space is left in use, no put is unfinished, and only the sessions of those
  that live are left;
- no process ended by itself, and no sanitizer had anything to say;
- memory, descriptors and threads of the processes have not grown. Node0 and client0 are never killed and
  the master only in the first half, so that what grows slowly has the time to.

--preset takes the programs of another build: what is wrong with memory or threads is then said by its
sanitizer. The records stay in --keep DIR if it is given, and wherever something is wrong.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

import proxy  # noqa: E402
from pool import die_with_parent  # noqa: E402

NODES, CLIENTS, KEYS = 4, 8, 60
VALUE_BYTES_MAX = 256 << 10
NODE_MEMORY = "4MiB"  # the keys want about twice of what all have, so eviction works all the time
OPERATIONS_PER_SECOND = 60  # of each client
SESSIONS_OF_CHECK = 2
SETTLE_SECONDS = 60  # longer than any time-out of the protocol
GROWN_UP_SECONDS = 30  # a process has what it needs by then: what comes later is growth
SANITIZER_SPEAKS = re.compile(r"^.*(?:(?:ERROR|WARNING): \w+Sanitizer|runtime error: ).*$", re.MULTILINE)


class Process:
    """One that is started again after each death."""

    def __init__(self, name, words, **options):
        self.name, self.words, self.options = name, [str(word) for word in words], options
        self.starts = 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.PIPE, preexec_fn=die_with_parent, **self.options
        )
        self.starts += 1
        self.started_at = time.monotonic()
        self.stopped = False
        self.expected_end = False

    @property
    def alive(self):
        return self.process.poll() is None

    @property
    def life(self):
        return f"{self.name} (start {self.starts})"

    @property
    def age(self):
        return time.monotonic() - self.started_at

    def kill(self):
        self.expected_end = True
        self.process.kill()
        self.process.wait()

    def footprint(self):
        """(resident KiB, descriptors, threads)"""
        folder = f"/proc/{self.process.pid}"
        with open(f"{folder}/status") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return int(fields["VmRSS"].split()[0]), len(os.listdir(f"{folder}/fd")), int(fields["Threads"])


class Pool:
    def __init__(self, binaries, folder, seed):
        self.binaries, self.folder = binaries, folder
        self.random = random.Random(seed)
        self.faults = collections.Counter()
        self.outages = []  # (when it ends, what to do then)
        self.ended_by_themselves = {}  # a life: its exit code
        self.log = open(folder / "servers.log", "wb")
        self.place = self.free_place()
        self.master = self.server("master", "--listen", self.place, "--state-dir", folder / "state")
        self.wait_ready(self.master)
        self.to_nodes = [proxy.Proxy(self.place) for _ in range(NODES)]
        self.to_clients = [proxy.Proxy(self.place) for _ in range(CLIENTS)]
        self.nodes = [
            self.server("node", "--master", link.endpoint, "--name", f"node{i}", "--host", f"host{i}",
                        "--memory", NODE_MEMORY)
            for i, link in enumerate(self.to_nodes)
        ]  # fmt: skip
        for node in self.nodes:
            self.wait_ready(node)
        self.clients = [self.client(i, link) for i, link in enumerate(self.to_clients)]

    @property
    def processes(self):
        return [self.master, *self.nodes, *self.clients]

    @staticmethod
    def free_place():
        with proxy.socket.create_server(("127.0.0.1", 0)) as listener:
            return "127.0.0.1:%d" % listener.getsockname()[1]

    def server(self, kind, *words):
        name = words[words.index("--name") + 1] if "--name" in words else kind
        words = [self.binaries / "larder", kind, *words, "--json"]
        return Process(name, words, stdout=subprocess.PIPE, stderr=self.log)

    def client(self, i, link):
        words = [self.binaries / "chaos-worker", link.endpoint, f"client{i}", KEYS, VALUE_BYTES_MAX,
                 OPERATIONS_PER_SECOND]  # fmt: skip
        record = open(self.folder / f"client{i}.record", "ab")
        return Process(f"client{i}", words, stdout=record, stderr=self.log)

    @staticmethod
    def wait_ready(server):
        if not server.process.stdout.readline():
            raise RuntimeError(f"{server.name} did not start")

    def command(self, *words, value=None):
        return subprocess.run(
            [self.binaries / "larder", words[0], "--master", self.place, *words[1:]],
            input=value or b"", capture_output=True, timeout=120,
        )  # fmt: skip

    # ---- faults ----------------------------------------------------------------------------------

    def later(self, seconds_max, undo):
        self.outages.append((time.monotonic() + self.random.uniform(0.1, seconds_max), undo))

    def end_outages(self, until):
        over = [outage for outage in self.outages if outage[0] <= until]
        self.outages = [outage for outage in self.outages if outage[0] > until]
        for _, undo in over:
            undo()

    def kill_and_restart(self, process, seconds_max):
        if not process.alive:
            return
        process.kill()
        self.later(seconds_max, lambda: process.alive or process.start())

    def stop_and_continue(self, process, seconds_max):
        if not process.alive or process.stopped:
            return
        stopped = process.process
        stopped.send_signal(signal.SIGSTOP)
        process.stopped = True

        def go_on():
            if stopped.poll() is None:
                stopped.send_signal(signal.SIGCONT)
                process.stopped = False

        self.later(seconds_max, go_on)

    def note_ends(self):
        """Of those that nobody killed. They are started again, so that the others have a pool."""
        for each in self.processes:
            if not each.alive and not each.expected_end:
                self.ended_by_themselves[each.life] = each.process.returncode
                each.start()

    def freeze(self, link):
        link.freeze()
        self.later(15, link.thaw)

    def fault(self, master_may_die):
        draw = self.random
        links = self.to_nodes + self.to_clients
        kinds = {
            "node killed": (3, lambda: self.kill_and_restart(draw.choice(self.nodes[1:]), 8)),
            "node stopped": (3, lambda: self.stop_and_continue(draw.choice(self.nodes), 12)),
            "client killed": (3, lambda: self.kill_and_restart(draw.choice(self.clients[1:]), 2)),
            "client stopped": (2, lambda: self.stop_and_continue(draw.choice(self.clients[1:]), 15)),
            "master killed": (int(master_may_die), lambda: self.kill_and_restart(self.master, 3)),
            "master stopped": (1, lambda: self.stop_and_continue(self.master, 4)),
            "connection cut": (4, lambda: draw.choice(links).cut()),
            "connection frozen": (3, lambda: self.freeze(draw.choice(links))),
        }
        name = draw.choices(list(kinds), [weight for weight, _ in kinds.values()])[0]
        kinds[name][1]()
        self.faults[name] += 1

    # ---- the end ---------------------------------------------------------------------------------

    def calm(self):
        self.end_outages(float("inf"))
        self.note_ends()
        for each in self.processes:
            if not each.alive:
                each.start()

    def restart_master(self):
        self.master.kill()
        self.master.start()
        self.wait_ready(self.master)

    def end_clients(self):
        """What is wrong with how they ended."""
        for client in self.clients:
            client.process.stdin.close()
        return self.wait_for_ends(self.clients)

    def end_servers(self):
        """The same; here a sanitizer says what was allocated and never freed."""
        for server in (*self.nodes, self.master):
            server.process.terminate()
        return self.wait_for_ends([*self.nodes, self.master])

    @staticmethod
    def wait_for_ends(processes):
        wrong = []
        for each in processes:
            each.expected_end = True
            try:
                code = each.process.wait(30)
            except subprocess.TimeoutExpired:
                code = "never"
                each.kill()
            if code != 0:
                wrong.append(f"{each.life} was asked to end and ended with {code}")
        return wrong

    def destroy(self):
        for each in self.processes:
            if each.alive:
                each.kill()
        for link in self.to_nodes + self.to_clients:
            link.close()

    def footprints(self):
        """Of each life that is old enough to have what it needs."""
        found = {}
        for each in self.processes:
            if each.alive and each.age >= GROWN_UP_SECONDS:
                try:
                    found[each.life] = each.footprint()
                except (OSError, KeyError):
                    pass  # it has just ended by itself, which is noted next
        return found


# ---- what must hold ------------------------------------------------------------------------------


def check_service(pool):
    """Everybody can store something new and read it."""
    deadline = time.monotonic() + SETTLE_SECONDS
    for i in range(CLIENTS):
        key, value = f"fresh{i}", os.urandom(10_000)
        while True:
            put = pool.command("put", "--upsert", key, value=value)
            got = pool.command("get", key)
            if put.returncode == 0 and got.returncode == 0:
                break
            if time.monotonic() > deadline:
                return [f"a fresh put or get fails although all faults are over: {put.stderr} {got.stderr}"]
        if got.stdout != value:
            return [f"a fresh get of {key} gave other bytes"]
    return []


def all_keys():
    own = [f"{name}{i}" for name in ("fresh", "kept") for i in range(CLIENTS)]
    return [f"key{i}" for i in range(KEYS)] + own


def readable(pool):
    """The values that the pool gives now, by key."""
    gets = {key: pool.command("get", key) for key in all_keys()}
    return {key: got.stdout for key, got in gets.items() if got.returncode == 0}


def check_kept(pool):
    """With no client that puts, nothing is evicted, and no node dies: a master that restarts loses nothing.

    The new values are a hundredth of the pool, and eviction takes what was not used for longest."""
    values = {f"kept{i}": os.urandom(10_000) for i in range(CLIENTS)}
    for key, value in values.items():
        put = pool.command("put", "--upsert", key, value=value)
        if put.returncode != 0:
            return [f"a put with all faults over fails: {put.stderr}"]
    before = readable(pool)
    wrong = [f"{key} was put and is not there" for key in values if before.get(key) != values[key]]
    pool.restart_master()
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        status = json.loads(pool.command("status", "--json").stdout or "{}")
        shown = [node for node in status.get("nodes", []) if node["state"] == "shown"]
        if len(shown) == NODES and not status["recovering"]:
            break
        if time.monotonic() > deadline:
            return [*wrong, f"after a restart of the master only {len(shown)} nodes are shown"]
        time.sleep(0.2)
    after = readable(pool)
    lost = [key for key in before if key not in after]
    if lost:
        wrong.append(f"a restart of the master lost {len(lost)} of {len(before)} values: {lost[:5]}")
    wrong += [f"{key} has other bytes after a restart of the master" for key in before.keys() & after.keys()
              if after[key] != before[key]]  # fmt: skip
    print(f"a restart of the master: {len(before)} values before, {len(after)} after", flush=True)
    return wrong


def check_space(pool):
    """Nothing is left in use when every key is removed."""
    keys = all_keys()
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        pool.command("rm", "--force", *keys)
        status = json.loads(pool.command("status", "--json").stdout)
        nothing = ("objects", "used", "quarantined", "unfinished_puts")
        left = {name: status[name] for name in nothing if status[name]}
        # The commands of this check have some of their own, which end when they do.
        if status["sessions"] > SESSIONS_OF_CHECK:
            left["sessions"] = status["sessions"]
        hidden = [node["name"] for node in status["nodes"] if node["state"] != "shown"]
        if not left and not hidden and len(status["nodes"]) == NODES:
            return []
        if time.monotonic() > deadline:
            return [f"when all keys are removed there is still {left}; not shown: {hidden}"]
        time.sleep(0.5)


def check_footprints(before, after, sanitized=False):
    wrong = []
    for name in before.keys() & after.keys():
        (kib, descriptors, threads), (kib_now, descriptors_now, threads_now) = before[name], after[name]
        # An allocator keeps some of what it once had; a leak goes beyond that. A sanitizer keeps much
        # more, and tells of leaks itself.
        if not sanitized and kib_now > 1.25 * kib + (16 << 10):
            wrong.append(f"{name} grew from {kib} to {kib_now} KiB")
        if descriptors_now > descriptors + 24:
            wrong.append(f"{name} went from {descriptors} to {descriptors_now} descriptors")
        if threads_now > threads + 2:
            wrong.append(f"{name} went from {threads} to {threads_now} threads")
    return wrong


def read_records(folder):
    for path in sorted(folder.glob("client*.record")):
        for line in path.read_text(errors="replace").split("\n")[:-1]:
            yield line.split(" ")


def check_records(folder):
    """(how many there are of each kind, what is wrong)"""
    counts, wrong, gets = collections.Counter(), [], []
    began, stored, replaced = {}, {}, collections.defaultdict(list)
    for kind, *facts in read_records(folder):
        counts[f"{facts[0]} failed with {facts[1]}" if kind == "failed" else kind] += 1
        if kind == "put":
            began[facts[1]] = (facts[0], int(facts[2]))
        elif kind == "stored":
            stored[facts[1]] = int(facts[2])
            if facts[3] == "upsert":
                replaced[facts[0]].append((began[facts[1]][1], int(facts[2]), facts[1]))
        elif kind == "removed":
            replaced[facts[0]].append((int(facts[1]), int(facts[2]), None))
        elif kind == "got":
            gets.append((facts[0], facts[1], int(facts[2]), int(facts[3])))
        elif kind == "wrong":
            wrong.append(f"a get gave wrong bytes: {' '.join(facts)}")
    for key, write, get_began, get_ended in gets:
        if write not in began or began[write][0] != key or began[write][1] > get_ended:
            wrong.append(f"a get of {key} gave write {write}, which no put of the key had begun")
        elif write in stored and any(
            stored[write] < since and until < get_began and by != write
            for since, until, by in replaced[key]
        ):
            wrong.append(f"a get of {key} gave write {write}, which had been replaced before it began")
    if not counts["got"] or not counts["stored"]:
        wrong.append("nothing was stored or read")
    return counts, wrong


def check_ends(pool):
    return [f"{life} ended by itself with {code}" for life, code in sorted(pool.ended_by_themselves.items())]


def check_log(folder):
    text = (folder / "servers.log").read_text(errors="replace")
    return [line.strip() for line in SANITIZER_SPEAKS.findall(text)]


def print_footprints(before, after):
    for name in sorted(before.keys() & after.keys()):
        grown = zip(("KiB", "descriptors", "threads"), before[name], after[name])
        print(f"{name}:", ", ".join(f"{then} -> {now} {what}" for what, then, now in grown))


def run(arguments, folder):
    pool = Pool(arguments.binaries, folder, arguments.seed)
    sanitized = arguments.preset in ("asan", "tsan")
    try:
        begin = time.monotonic()
        end = begin + arguments.minutes * 60
        time.sleep(3)
        before = {}
        while (now := time.monotonic()) < end:
            if sys.stderr.isatty():
                print(f"\r\033[K{end - now:.0f} s to go, {pool.faults.total()} faults", end="", file=sys.stderr)
            pool.note_ends()
            before = {**pool.footprints(), **before}
            pool.fault(master_may_die=now < (begin + end) / 2)
            time.sleep(pool.random.expovariate(1.0))
            pool.end_outages(time.monotonic())
        pool.calm()
        wrong = check_service(pool)
        after = pool.footprints()
        print_footprints(before, after)
        wrong += check_footprints(before, after, sanitized)
        wrong += pool.end_clients()
        wrong += check_kept(pool)
        wrong += check_space(pool)
        wrong += pool.end_servers()
        pool.note_ends()
        wrong += check_ends(pool)
    finally:
        pool.destroy()
    wrong += check_log(folder)
    counts, more = check_records(folder)
    return pool.faults, counts, wrong + more


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", default=str(time.time_ns()), help="of the faults and their times")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="a folder for the records")
    parser.add_argument("--preset", default="release", help="the build whose programs run, such as asan or tsan")
    arguments = parser.parse_args()
    arguments.binaries = ROOT / "build" / arguments.preset / "bin"
    print(f"{arguments.minutes} minutes of {arguments.preset}, --seed {arguments.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-chaos-"))
    faults, counts, wrong = run(arguments, folder)
    print("faults:", ", ".join(f"{count} {name}" for name, count in sorted(faults.items())))
    print("clients:", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    if arguments.keep:
        shutil.copytree(folder, arguments.keep, dirs_exist_ok=True)
    if wrong:
        print("records:", arguments.keep or folder)
    else:
        shutil.rmtree(folder)
    for sentence in wrong[:50]:
        print("WRONG:", sentence)
    print(f"{len(wrong)} things are wrong" if wrong else "nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
