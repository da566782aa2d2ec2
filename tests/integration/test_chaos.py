"""The judgement of tests/chaos: it must find what is wrong in a record, and let pass what is right."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "chaos"))

import chaos  # noqa: E402

GOOD = """put k 1 100
stored k 1 200 put
got k 1 210 220
put k 2 300
stored k 2 400 upsert
got k 2 410 420
removed k 500 600
missed k 610 620
failed get RPC_TIMEOUT
"""


class FakePool:
    """A pool in which all is well but what `restart` does to its values."""

    def __init__(self, restart, refused=()):
        self.values = {"key1": b"of a client"}
        self.restart, self.refused = restart, refused

    def command(self, name, *words, value=None):
        if name == "status":
            nodes = [{"state": "shown"}] * chaos.NODES
            return types.SimpleNamespace(stdout=json.dumps({"nodes": nodes, "recovering": False}))
        key = words[-1]
        if name == "put" and key not in self.refused:
            self.values[key] = value
        found = name == "put" or key in self.values
        return types.SimpleNamespace(returncode=0 if found else 1, stdout=self.values.get(key, b""), stderr=b"")

    def restart_master(self):
        self.restart(self.values)


class Kept(unittest.TestCase):
    def judge(self, *pool):
        with contextlib.redirect_stdout(io.StringIO()):
            return chaos.check_kept(FakePool(*pool))

    def test_a_restart_that_loses_nothing_passes(self):
        self.assertEqual(self.judge(lambda values: None), [])

    def test_a_restart_that_loses_some_or_everything_is_found(self):
        everything = self.judge(lambda values: values.clear())
        self.assertEqual(len(everything), 1)
        self.assertIn(f"lost {chaos.CLIENTS + 1} of {chaos.CLIENTS + 1}", everything[0])
        self.assertIn("lost 1 of", self.judge(lambda values: values.pop("key1"))[0])

    def test_other_bytes_after_a_restart_are_found(self):
        changed = self.judge(lambda values: values.update(key1=b"of nobody"))
        self.assertEqual(changed, ["key1 has other bytes after a restart of the master"])

    def test_a_put_that_is_acknowledged_and_forgotten_is_found(self):
        self.assertEqual(self.judge(lambda values: None, ["kept3"]), ["kept3 was put and is not there"])


class Records(unittest.TestCase):
    def judge(self, *records):
        with tempfile.TemporaryDirectory() as folder:
            for number, text in enumerate(records):
                pathlib.Path(folder, f"client{number}.record").write_text(text)
            return chaos.check_records(pathlib.Path(folder))

    def assert_wrong(self, part, *records):
        wrong = self.judge(*records)[1]
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn(part, wrong[0])

    def test_what_is_right_passes_and_is_counted(self):
        counts, wrong = self.judge(GOOD)
        self.assertEqual(wrong, [])
        self.assertEqual((counts["got"], counts["stored"], counts["get failed with RPC_TIMEOUT"]), (2, 2, 1))

    def test_what_overlaps_is_allowed_in_either_order(self):
        # The get began before the upsert was acknowledged, or the removal began before the put ended.
        self.assertEqual(self.judge(GOOD, "got k 1 390 450\n")[1], [])
        self.assertEqual(self.judge("put k 1 100\nstored k 1 200 put\nremoved k 150 180\ngot k 1 300 310\n")[1], [])

    def test_wrong_bytes_are_found(self):
        self.assert_wrong("wrong bytes", GOOD, "wrong k write_1_word_7_of_9 700 710\n")

    def test_a_value_that_nobody_put_is_found(self):
        self.assert_wrong("no put of the key", GOOD, "got k 3 700 710\n")
        self.assert_wrong("no put of the key", GOOD, "put other 9 1\ngot k 9 700 710\n")
        self.assert_wrong("no put of the key", GOOD, "put k 9 800\ngot k 9 700 710\n")

    def test_a_value_that_was_replaced_or_removed_is_found(self):
        self.assert_wrong("replaced", GOOD, "got k 1 450 460\n")
        self.assert_wrong("replaced", GOOD, "got k 2 700 710\n")

    def test_a_record_of_nothing_is_wrong(self):
        self.assert_wrong("nothing was stored", "failed get RPC_FAIL\n")

    def test_footprints_that_grow_are_found(self):
        before = {"a": (1000, 10, 3)}
        self.assertEqual(chaos.check_footprints(before, {"a": (2000, 12, 3), "new": (9 << 20, 99, 99)}), [])
        grown = chaos.check_footprints(before, {"a": (100_000, 100, 9)})
        self.assertEqual(len(grown), 3, grown)
        sanitized = chaos.check_footprints(before, {"a": (100_000, 100, 9)}, sanitized=True)
        self.assertEqual(len(sanitized), 2, "a sanitizer's memory says nothing")

    def test_what_a_sanitizer_says_is_found(self):
        said = (
            "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n"
            "WARNING: ThreadSanitizer: data race (pid=8)\n"
            "core/base/x.cpp:3:4: runtime error: signed integer overflow\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "servers.log")
            log.write_text("[warn] node: no connection to the master\n")
            self.assertEqual(chaos.check_log(log.parent), [])
            log.write_text(said)
            self.assertEqual(len(chaos.check_log(log.parent)), 3)

    def test_a_process_that_ends_by_itself_is_found_and_one_that_is_killed_is_not(self):
        killed = chaos.Process("killed", ["sleep", "60"])
        dying = chaos.Process("dying", ["sh", "-c", "exit 7"])
        self.addCleanup(lambda: [each.kill() for each in (killed, dying)])
        killed.kill()
        dying.process.wait()
        pool = types.SimpleNamespace(processes=[killed, dying], ended_by_themselves={})
        chaos.Pool.note_ends(pool)
        self.assertEqual(chaos.check_ends(pool), ["dying (start 1) ended by itself with 7"])


if __name__ == "__main__":
    unittest.main()
