"""What goes in comes out, between processes."""

import json
import os
import signal
import unittest

from pool import PoolTest, wait_until


class Values(PoolTest):
    def test_a_value_put_by_one_process_is_got_by_another(self):
        self.start_up()
        for size in (1, 63, 64, 65, 4097, 262143, 262144, 5_000_001):
            value = os.urandom(size)
            put = self.put(f"size/{size}", value)
            self.assertEqual((put["size"], put["already_stored"]), (size, False))
            self.assertEqual(put["replicas"], 1)
            self.assertEqual(self.get(f"size/{size}"), value)

    def test_master_and_nodes_as_processes_of_their_own(self):
        self.start_master()
        for name in ("a", "b"):
            self.start_node(name, "--host", name)
        self.assertEqual(self.node_states(), {"a": "shown", "b": "shown"})
        self.assertEqual(self.put("k", b"twice", "--replicas", "2")["replicas"], 2)
        self.assertEqual(self.get("k"), b"twice")

    def test_a_put_waits_for_the_first_node_of_a_pool_that_was_just_started(self):
        self.start_master()
        with open(self.path("value"), "wb") as file:
            file.write(b"early")
        put = self.popen("put", "k", self.path("value"))
        self.start_node("a")
        put.communicate(timeout=30)
        self.assertEqual(put.returncode, 0)
        self.assertEqual(self.get("k"), b"early")

    def test_a_large_value_from_a_pipe_is_whole(self):
        self.start_up(memory="256MiB")
        value = os.urandom(1_000_003) * 100
        self.put("piped", value)
        self.assertEqual(self.get("piped"), value)

    def test_a_key_that_is_there_is_unchanged_unless_it_is_an_upsert(self):
        self.start_up()
        self.assertFalse(self.put("k", b"one")["already_stored"])
        self.assertTrue(self.put("k", b"two")["already_stored"])
        self.assertEqual(self.get("k"), b"one")
        self.assertFalse(self.put("k", b"three", "--upsert")["already_stored"])
        self.assertEqual(self.get("k"), b"three")

    def test_exists_and_rm_take_several_keys_and_answer_each(self):
        self.start_up()
        self.put("a", b"1")
        self.put("b", b"2")
        result = self.run_command("exists", "a", "x", "b", "--json")
        exists = json.loads(result.stdout)
        self.assertEqual([e["exists"] for e in exists], [True, False, True])
        self.assertEqual([e["key"] for e in exists], ["a", "x", "b"])
        # The exit code is the answer.
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"1 of 3 keys are not there", result.stderr)
        self.assertEqual(self.do("exists", "a", "b"), b"yes  a\nyes  b\n")
        self.assertEqual(self.do("exists", "-q", "a", "b"), b"")
        self.assertIn("1 of 2", self.fail_to(1, "exists", "-q", "a", "x"))

        result = self.run_command("rm", "a", "x", "--json", "--force")
        self.assertEqual(result.returncode, 1)
        removed = json.loads(result.stdout)
        self.assertEqual([r["removed"] for r in removed], [True, False])
        self.assertEqual(removed[1]["error"]["name"], "OBJECT_NOT_FOUND")
        self.assertIn("OBJECT_NOT_FOUND", self.fail_to(1, "get", "a"))
        self.assertEqual(self.get("b"), b"2")

    def test_what_is_leased_is_removed_only_by_force(self):
        self.start_up()

        def refused():
            self.put("k", b"v")
            self.do("exists", "k")  # leaves a lease of 1 s behind, unlike get, which gives it back
            return self.run_command("rm", "k").stderr

        self.assertIn(b"OBJECT_HAS_LEASE", wait_until(refused, "a removal within a second"))
        self.do("rm", "--force", "k")
        self.assertIn("OBJECT_NOT_FOUND", self.fail_to(1, "get", "k"))

    def test_keys_with_any_bytes(self):
        self.start_up()
        plain = ["a/b@c d", "100%", "%41", "äöü", "\U0001f600", "-x", '"quoted"', "k" * 1024]
        for key in plain:
            self.do("put", "--", key, value=key.encode())
        for key in plain:
            self.assertEqual(self.do("get", "--", key), key.encode())
        raw = b"raw\xff\xfe"
        self.assertEqual(self.run_command("put", raw, value=b"1").returncode, 0)
        self.assertEqual(self.do("get", raw), b"1")
        self.assertEqual(self.do("get", "--escaped", "raw%ff%FE"), b"1")
        self.put("nul%00%25", b"2", "--escaped")
        self.assertEqual(self.do("get", "--escaped", "nul%00%25"), b"2")
        self.assertIn("OBJECT_NOT_FOUND", self.fail_to(1, "get", "nul"))

    def test_putting_a_key_that_is_there_names_no_put(self):
        self.start_up()
        self.assertRegex(self.put("k", b"one")["put_id"], r"^\d+-\d+$")
        self.assertIsNone(self.put("k", b"two")["put_id"])

    def test_bad_keys_and_values_are_wrong_usage_and_change_nothing(self):
        self.start_up()
        self.assertIn("INVALID_KEY", self.fail_to(2, "put", "", value=b"x"))
        self.assertIn("INVALID_KEY", self.fail_to(2, "put", "k" * 1025, value=b"x"))
        self.assertIn("position 1", self.fail_to(2, "put", "--escaped", "a%g1", value=b"x"))
        self.assertIn("INVALID_PARAMS", self.fail_to(2, "put", "k", value=b""))
        for replicas in ("0", "17"):
            self.fail_to(2, "put", "k", "--replicas", replicas, value=b"x")
        self.assertEqual(self.status()["objects"], 0)

    def test_a_value_that_no_node_can_hold_is_refused_with_its_size(self):
        self.start_up(memory="8MiB")
        message = self.fail_to(1, "put", "big", value=b"x" * (9 << 20))
        self.assertIn("NO_AVAILABLE_HANDLE", message)
        self.assertIn(str(9 << 20), message)
        self.check_serves()

    def test_a_full_pool_evicts_and_goes_on(self):
        self.start_up(memory="16MiB")
        for i in range(40):
            self.put(f"page/{i}", os.urandom(1 << 20))
        status = self.status()
        self.assertGreater(status["evicted_objects"], 20)
        self.assertLessEqual(status["used"], 16 << 20)
        self.assertEqual(len(self.get("page/39")), 1 << 20)


class Files(PoolTest):
    def setUp(self):
        super().setUp()
        self.start_up()
        self.put("k", b"value")

    def test_from_and_to_files(self):
        with open(self.path("in"), "wb") as file:
            file.write(b"from a file")
        self.do("put", "f", self.path("in"))
        got = json.loads(self.do("get", "f", self.path("out"), "--json"))
        self.assertEqual((got["size"], got["checksum_verified"]), (11, True))
        with open(self.path("out"), "rb") as file:
            self.assertEqual(file.read(), b"from a file")

    def test_a_get_that_fails_leaves_the_file_as_it_was_and_nothing_beside_it(self):
        with open(self.path("out"), "wb") as file:
            file.write(b"before")
        self.fail_to(1, "get", "missing", self.path("out"))
        self.fail_to(1, "get", "k", self.path("no/such/directory"))
        self.fail_to(1, "get", "k", self.directory)
        with open(self.path("out"), "rb") as file:
            self.assertEqual(file.read(), b"before")
        self.assertEqual(os.listdir(self.directory), ["out"])

    @staticmethod
    def has_open_below(pid, directory):
        descriptors = f"/proc/{pid}/fd"
        for name in os.listdir(descriptors):
            try:
                if os.readlink(f"{descriptors}/{name}").startswith(directory):
                    return True
            except FileNotFoundError:
                pass  # closed meanwhile
        return False

    def test_a_get_that_is_interrupted_leaves_nothing_beside_the_file(self):
        self.start_master("--hidden-after-silence", "25s")
        node = self.start_node("n")
        self.put("k", os.urandom(40 << 20))
        node.send(signal.SIGSTOP)  # it serves no byte of it
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            target = self.path("out")
            with open(target, "wb") as file:
                file.write(b"before")
            reader = self.popen("get", "k", target)
            wait_until(lambda: self.has_open_below(reader.pid, self.directory), "it has begun")
            reader.send_signal(number)
            self.assertEqual(reader.wait(30), -number)
            self.assertEqual(os.listdir(self.directory), ["out"])
            with open(target, "rb") as file:
                self.assertEqual(file.read(), b"before")
        node.send(signal.SIGCONT)

    def test_a_full_disk_is_an_error(self):
        self.assertIn("No space", self.fail_to(1, "get", "k", "/dev/full"))

    def test_what_cannot_be_read_is_an_error(self):
        self.assertIn("No such file", self.fail_to(1, "put", "n", self.path("missing")))
        self.assertIn("directory", self.fail_to(1, "put", "n", self.directory))
        self.assertEqual(self.run_command("exists", "n").stdout, b"no   n\n")

    def test_a_file_that_cannot_be_a_value_is_refused_before_it_is_read(self):
        self.start_up(memory="4MiB")
        for size, what in ((65 << 30, "64.00 GiB"), (1 << 40, "64.00 GiB")):
            with open(self.path("sparse"), "w") as file:
                file.truncate(size)
            message = self.fail_to(2, "put", "k", self.path("sparse"))
            self.assertIn(self.path("sparse"), message)
            self.assertIn(what, message)


if __name__ == "__main__":
    unittest.main()
