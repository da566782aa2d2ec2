"""What people meet first: help, wrong usage, a master that is not there, ports that are taken."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from pool import LARDER, PoolTest, wait_until

LARDER_SIM = os.path.join(os.path.dirname(LARDER), "larder-sim")
COMMANDS = ("up", "master", "node", "put", "get", "exists", "rm", "ls", "stat", "status", "replay", "doctor", "config")


def larder(*arguments, environment=None):
    return subprocess.run(
        [LARDER, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **(environment or {})},
    )


class Usage(unittest.TestCase):
    def test_help_teaches_with_an_example(self):
        result = larder("--help")
        self.assertEqual(result.returncode, 0)
        for command in COMMANDS:
            self.assertIn(command, result.stdout)
            of_command = larder(command, "--help")
            self.assertEqual(of_command.returncode, 0)
            self.assertRegex(of_command.stdout, f"Examples?: *larder {command}|larder {command}")
            self.assertIn("--json", of_command.stdout)

    def test_wrong_usage_ends_with_2_and_says_why(self):
        for arguments in (
            (),
            ("frobnicate",),
            ("put",),
            ("put", "k", "file", "more"),
            ("get", "k", "--frobnicate"),
            ("get", "k", "--json"),
            ("exists",),
            ("rm",),
            ("rm", "k", "--all"),
            ("rm", "--all", "--prefix", "a"),
            ("rm", "--pattern", "a["),
            ("rm", "--pattern", "a(", "--regex"),
            ("ls", "[z-a]"),
            ("ls", "--regex", "a**"),
            ("ls", "--cursor", "1-2"),
            ("ls", "--limit", "-1"),
            ("stat",),
            ("status", "extra"),
            ("status", "--timeout", "soon"),
            ("status", "--timeout", "-1"),
            ("status", "--master", "nowhere:port"),
            ("status", "--master", "127.0.0.1:70000"),
            ("status", "--master", ""),
            ("master", "--state-dir", ""),
            ("master", "--epoch-after", str(2**64 - 1), "--listen", "127.0.0.1:0"),
            ("node", "--advertise", "x:7000", "--memory", "4MiB"),
            ("status", "--tenant", ""),
            ("put", "k", "--replicas", "-1"),
            ("up", "--memory", "'4GiB'"),
            ("up", "--memory", "-4GiB"),
            ("up", "--memory", "99999999999999999999"),
            ("up", "--memory", "4 parsecs"),
            ("up", "--policy", "random"),
            ("up", "--listen", "0.0.0.0:0"),
            ("up", "--high-watermark", "0.5", "--low-watermark", "0.9", "--listen", "127.0.0.1:0"),
            ("up", "--high-watermark", "nan", "--listen", "127.0.0.1:0"),
            ("master", "--listen", "0.0.0.0:0"),
            ("master", "--seed", "-1"),
            ("node", "--listen", "0.0.0.0:0"),
            ("node", "--listen", "0.0.0.0:0", "--insecure"),
            ("node", "--master", "192.0.2.1:7700"),
            ("node", "--log-level", "loud"),
            ("replay",),
            ("replay", "/dev/null", "--page-bytes", "0"),
            ("replay", "/dev/null", "--seconds", "-1"),
        ):
            with self.subTest(arguments):
                result = larder(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertTrue(result.stderr.strip())
                self.assertEqual(result.stdout, "")

    def test_what_is_not_known_is_named_before_what_is_missing(self):
        for arguments, unknown in (
            (("frobnicate",), "frobnicate"),
            (("--verison",), "--verison"),
            (("put", "--upsret"), "--upsret"),
        ):
            result = larder(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(unknown, result.stderr)

    def test_the_version_is_told_with_its_build(self):
        for program in (LARDER, LARDER_SIM):
            result = subprocess.run([program, "--version"], capture_output=True, text=True)
            name = os.path.basename(program)
            self.assertRegex(result.stdout, rf"^{name} \d+\.\d+\.\d+ \((commit \w+, )?\w+\)\n$")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_help_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            for program in (LARDER, LARDER_SIM):
                for arguments in (("--help",), ("--version",), ("replay", "--help")):
                    result = subprocess.run(
                        [program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True
                    )
                    self.assertEqual(result.returncode, 1)
                    self.assertIn("cannot write to stdout: No space left", result.stderr)

    def test_a_bad_environment_is_refused_like_a_bad_flag(self):
        result = larder("status", environment={"LARDER_MASTER": "http://x/"})
        self.assertEqual(result.returncode, 2)
        self.assertIn("http://x/", result.stderr)

    def test_a_master_that_is_not_there_is_an_error_with_its_endpoint(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # nobody listens
            endpoint = "127.0.0.1:%d" % unused.getsockname()[1]
            for arguments in (("status",), ("get", "k"), ("exists", "k"), ("rm", "k")):
                begin = time.monotonic()
                result = larder(*arguments, "--master", endpoint, "--timeout", "0.5")
                self.assertEqual(result.returncode, 1)
                self.assertIn("RPC_FAIL", result.stderr)
                self.assertIn(endpoint, result.stderr)
                self.assertLess(time.monotonic() - begin, 10)

    def test_whoever_waits_for_a_master_is_told_soon_and_for_how_long(self):
        with socket.socket() as unused, socket.create_server(("127.0.0.1", 0)) as silent:
            unused.bind(("127.0.0.1", 0))
            for place in (unused, silent):
                endpoint = "127.0.0.1:%d" % place.getsockname()[1]
                begin = time.monotonic()
                process = subprocess.Popen(
                    [LARDER, "status", "--master", endpoint, "--timeout", "20"],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                line = process.stderr.readline()
                self.assertLess(time.monotonic() - begin, 3)  # half a second, where nothing else runs
                process.kill()
                process.communicate()
                self.assertIn("still trying", line)
                self.assertIn(endpoint, line)
                self.assertRegex(line, "for (19|20) s")

    def test_waiting_for_nodes_ends_with_the_timeout(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            endpoint = "127.0.0.1:%d" % unused.getsockname()[1]
            begin = time.monotonic()
            result = larder("status", "--nodes", "2", "--timeout", "1.5", "--master", endpoint)
            took = time.monotonic() - begin
        self.assertEqual(result.returncode, 1)
        self.assertIn("RPC_FAIL", result.stderr)
        self.assertGreater(took, 1.4)
        self.assertLess(took, 10)

    def test_what_is_refused_is_quoted_so_that_a_terminal_can_show_it(self):
        odd = "\x1b[2J\x1b]0;owned\x07" + "x" * 5000
        with tempfile.NamedTemporaryFile("wb", suffix=".json") as file:
            places = (
                ("status", "--" + odd),
                ("status", "--timeout", odd),
                ("status", "--log-level", odd),
                ("status", odd),
                (odd,),
                ("get", "k", "--tenant", odd),
                ("config", "--config", file.name),
            )
            for content in (
                {"pool": {"master": odd}},
                {"pool": {odd: 1}},
                {odd: {}},
                {"master": {"high-watermark": odd}},
            ):
                file.seek(0)
                file.truncate()
                file.write(json.dumps(content).encode())
                file.flush()
                for arguments in places:
                    self.check_quotes(larder(*arguments))
            # JSON that breaks off in raw bytes, and a NUL with which its parser would be content.
            for content in (b'{"pool": "\x1b[31m\xff', b'{"\x1b[31m": 1', b"{}\0\x1b[31m"):
                file.seek(0)
                file.truncate()
                file.write(content)
                file.flush()
                self.check_quotes(larder("config", "--config", file.name))
            for name in ("LARDER_MASTER", "LARDER_TIMEOUT", "LARDER_TENANT"):
                self.check_quotes(larder("status", environment={name: odd}))

    def test_a_scenario_that_is_refused_is_quoted_in_the_same_way(self):
        odd = "\x1b[2J" + "x" * 100_000
        with tempfile.NamedTemporaryFile("w", suffix=".scenario") as file:
            for line in (odd, f"at {odd}", f"policy {odd}", f"node0 {odd}", f"links {odd}", f"timing {odd}"):
                file.seek(0)
                file.truncate()
                file.write(line)
                file.flush()
                result = subprocess.run(
                    [LARDER_SIM, "explore", "--scenario", file.name], capture_output=True, text=True
                )
                self.assertIn(file.name + ":1", result.stderr)
                self.check_quotes(result, codes=(1, 2))

    def check_quotes(self, result, codes=(2,)):
        self.assertIn(result.returncode, codes, result.stderr)
        shown = result.stderr
        self.assertTrue(shown.strip())
        self.assertLess(len(shown), 4500)
        self.assertFalse(any(ord(c) < 32 and c != "\n" or ord(c) == 127 for c in shown), repr(shown))

    def test_what_is_no_master_is_an_error(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            endpoint = "127.0.0.1:%d" % silent.getsockname()[1]
            result = larder("status", "--master", endpoint, "--timeout", "0.5")
            self.assertEqual(result.returncode, 1)
            self.assertIn(endpoint, result.stderr)


class Servers(PoolTest):
    def test_a_server_prints_its_endpoint_and_nothing_else(self):
        process = subprocess.Popen(
            [LARDER, "up", "--listen", "127.0.0.1:0", "--memory", "4MiB"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(self._destroy, process)
        self.master = process.stdout.readline().strip()
        self.assertRegex(self.master, r"^127\.0\.0\.1:\d+$")
        self.check_serves()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=30)[0], "")
        self.assertEqual(process.returncode, 0)

    def test_a_busy_port_is_an_error_that_says_what_to_do(self):
        self.start_master()
        for command in ("up", "master"):
            self.assertIn("--listen 127.0.0.1:0", self.fail_to(1, command, "--listen", self.master))
        self.assertIn(
            "127.0.0.1:0", self.fail_to(1, "node", "--listen", self.master, "--memory", "4MiB")
        )

    def test_the_environment_names_the_master(self):
        self.start_up(memory="4MiB")
        result = larder("status", "--json", environment={"LARDER_MASTER": self.master})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["master"], self.master)

    def test_sizes_are_rounded_down_and_that_is_said(self):
        server = self.start_up(memory="5000001")
        self.assertEqual(self.status()["capacity"], 5000001 // 4096 * 4096)
        self.assertIn("rounded down", server.log_text())

    def test_a_node_of_no_memory_contributes_nothing(self):
        server = self.start_up(memory="0")
        self.assertEqual(self.status()["capacity"], 0)
        self.assertIn("contributes no memory", server.log_text())
        self.assertIn("NO_AVAILABLE_HANDLE", self.fail_to(1, "put", "k", value=b"x"))

    def test_more_memory_than_there_is_is_an_error(self):
        message = self.fail_to(1, "up", "--listen", "127.0.0.1:0", "--memory", "900TiB")
        self.assertIn("900.00 TiB", message)
        self.assertIn("available", message)

    def test_two_nodes_of_one_name_the_second_is_told(self):
        self.start_master()
        self.start_node("same")
        second = self.start("node", "--master", self.master, "--name", "same", "--memory", "4MiB")
        wait_until(lambda: "another name" in second.log_text(), "the second is told")
        self.assertEqual(len(self.status()["nodes"]), 1)

    def test_status_is_readable(self):
        self.start_up(memory="4MiB")
        self.put("k", b"v")
        text = self.do("status").decode()
        for word in ("capacity", "used", "quarantine", "objects", "evicted", "refused", "shown"):
            self.assertIn(word, text)


class Streams(PoolTest):
    """Without stdin, stdout or stderr, a socket must not take their numbers."""

    @staticmethod
    def without(streams, *arguments):
        closing = " ".join(f"{stream}>&-" for stream in streams)
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {closing}', "sh", *arguments], capture_output=True, timeout=60
        )

    def test_a_command_says_that_they_are_closed(self):
        self.start_up(memory="16MiB")
        self.put("k", b"v" * 100)
        for streams, arguments in (
            ((0,), ("put", "other")),
            ((1,), ("get", "k")),
            ((0, 1), ("get", "k")),
            ((1,), ("status",)),
        ):
            result = self.without(streams, *self.command(*arguments))
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"Bad file descriptor", result.stderr)
        self.assertEqual(self.without((0, 1, 2), *self.command("get", "k")).returncode, 1)
        out = self.path("out")
        self.assertEqual(self.without((0, 2), *self.command("get", "k", out)).returncode, 0)
        with open(out, "rb") as file:
            self.assertEqual(file.read(), b"v" * 100)

    def test_a_server_without_stdin_and_stderr_serves(self):
        command = [LARDER, "up", "--listen", "127.0.0.1:0", "--memory", "16MiB"]
        process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *command], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(self._destroy, process)
        self.master = process.stdout.readline().strip()
        self.check_serves()
        for stream in (0, 2):
            self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{stream}"), "/dev/null")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)


class StateDirectory(PoolTest):
    def test_an_epoch_grows_over_restarts_and_values_survive_the_master(self):
        state = self.path("state")
        first = self.start_master("--state-dir", state)
        self.start_node("n")
        self.put("k", b"v")
        before = self.status()["epoch"]
        self.assertEqual(first.end(signal.SIGKILL), -signal.SIGKILL)
        self.start("master", "--listen", self.master, "--state-dir", state).wait_ready()
        wait_until(lambda: self.run_command("get", "k").stdout == b"v", "the value is back")
        self.assertGreater(self.status()["epoch"], before)

    def test_one_master_at_a_time_holds_it(self):
        self.start_master("--state-dir", self.path("state"))
        message = self.fail_to(
            1, "master", "--listen", "127.0.0.1:0", "--state-dir", self.path("state")
        )
        self.assertIn("in use by another master", message)

    def test_a_foreign_file_in_it_is_named(self):
        os.mkdir(self.path("state"))
        with open(self.path("state/state"), "w") as file:
            file.write("something else\n")
        message = self.fail_to(
            1, "master", "--listen", "127.0.0.1:0", "--state-dir", self.path("state")
        )
        self.assertIn(self.path("state/state"), message)

    def test_without_one_it_is_said_that_removals_may_return(self):
        self.assertIn("may return after a restart", self.start_master().log_text())


if __name__ == "__main__":
    unittest.main()
