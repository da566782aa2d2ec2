"""Values that do not fit into a window of `larder put` and `get`, and `larder bench`."""

import hashlib
import json
import os
import subprocess
import unittest

import pool

MiB = 1 << 20
WINDOW = 32 * MiB


class Streams(pool.PoolTest):
    def setUp(self):
        super().setUp()
        self.start_up(memory="320MiB")

    def file_of(self, size, name="value"):
        block = os.urandom(MiB)
        with open(self.path(name), "wb") as file:
            for _ in range(size // MiB):
                file.write(block)
            file.write(block[: size % MiB])
        return self.path(name)

    def content(self, path):
        with open(path, "rb") as file:
            return file.read()

    def test_files_around_whole_windows_round_trip(self):
        for size in (WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, 2 * WINDOW + 12345):
            path = self.file_of(size)
            key = f"file/{size}"
            self.do("put", key, path)
            got = json.loads(self.do("get", key, self.path("back"), "--json"))
            self.assertEqual((got["size"], got["checksum_verified"]), (size, True))
            self.assertEqual(self.content(self.path("back")), self.content(path))
            self.do("rm", key, "--force")

    def test_pipes_round_trip_in_memory_spooled_and_with_a_size(self):
        for size in (1000, WINDOW + 1, 65 * MiB):
            value = os.urandom(size)
            self.put(f"pipe/{size}", value)
            self.assertEqual(self.get(f"pipe/{size}"), value)
            self.do("rm", f"pipe/{size}", "--force")
        self.put("told", value, "--size", str(size))
        self.assertEqual(self.get("told"), value)

    def test_a_pipe_of_another_size_than_told_stores_nothing(self):
        value = os.urandom(WINDOW + 1000)
        short = self.fail_to(1, "put", "k", "--size", str(len(value) + 1), value=value)
        self.assertIn(f"ended after {len(value)} of {len(value) + 1} bytes", short)
        self.assertIn("goes on", self.fail_to(1, "put", "k", "--size", str(WINDOW), value=value))
        self.assertIn("goes on", self.fail_to(1, "put", "k", "--size", "1000", value=value))
        self.assertIn("NOT_FOUND", self.fail_to(1, "get", "k"))
        self.put("k", value)  # nothing of the attempts is in the way

    def test_a_value_larger_than_the_pool_is_refused_before_it_is_read(self):
        process = self.popen("put", "k", "--size", "1GiB", stdin=subprocess.PIPE)
        self.assertEqual(process.wait(pool.PATIENCE), 1)  # although not a byte came
        self.assertIn("NO_AVAILABLE_HANDLE", process.communicate()[1].decode())

    def test_more_than_a_value_can_have_is_refused_before_any_read(self):
        path = self.path("huge")
        with open(path, "wb") as file:
            file.truncate(65 << 30)
        self.assertIn("more than 64", self.fail_to(2, "put", "k", path))
        self.assertIn("more than 64", self.fail_to(2, "put", "k", "--size", "65GiB"))

    def test_an_output_that_breaks_off_is_an_error_and_leaves_the_old_file(self):
        path = self.file_of(2 * WINDOW)
        self.do("put", "k", path)
        with open("/dev/full", "wb") as full:
            result = subprocess.run(self.command("get", "k"), stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 1)
        old = self.path("old")
        with open(old, "w") as file:
            file.write("old")
        self.fail_to(1, "get", "no such key", old)
        self.assertEqual(self.content(old), b"old")

    def test_bench_counts_its_calls_and_leaves_nothing(self):
        result = json.loads(
            self.do(
                "bench", "--json", "--verify", "--seconds", "0.5", "--warm-up", "0.1", "--value",
                "64KiB", "--keys", "10", "--batch", "3", "--threads", "2", "--clients", "2",
                "--depth", "2", "--put", "1", "--get", "2", "--exists", "1",
            )
        )  # fmt: skip
        for kind in ("put", "get", "exists"):
            count = result[kind]
            self.assertGreater(count["calls"], 0, kind)
            self.assertEqual(count["items"], 3 * count["calls"])
            self.assertEqual(count["items_done"] + sum(count["errors"].values()), count["items"])
            self.assertLessEqual(count["p50_ms"], count["p999_ms"])
        self.assertEqual(result["get"]["items_found"], result["get"]["items_done"])
        self.assertEqual(result["get"]["items_wrong"], 0)
        self.assertEqual(result["get"]["bytes"], result["get"]["items_found"] * 65536)
        self.assertEqual(self.status()["objects"], 0)

    def test_bench_refuses_nonsense(self):
        for option in (
            ("--threads", "0"), ("--depth", "0"), ("--batch", "0"), ("--batch", "70000"),
            ("--value", "0"), ("--keys", "0"), ("--seconds", "0"), ("--seconds", "-1"),
            ("--clients", "2"), ("--get", "-1"), ("--get", "0", "--put", "0", "--exists", "0"),
        ):  # fmt: skip
            with self.subTest(option=option):
                self.fail_to(2, "bench", *option)


class StatementD6(pool.PoolTest):
    def test_a_node_that_is_not_there_is_named_with_the_size_and_the_time(self):
        self.start_master()
        node = self.start_node("a")
        self.put("k", os.urandom(5000))
        endpoint = self.node_endpoint()
        node.end(9)
        message = self.fail_to(1, "get", "k", "--timeout", "1")
        for fact in ("TRANSFER_FAIL", endpoint, "5000 bytes", "'k'", " ms"):
            self.assertIn(fact, message)


def memory_bytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def is_release():
    cache = os.path.join(os.path.dirname(os.path.dirname(pool.LARDER)), "CMakeCache.txt")
    with open(cache) as file:
        return "CMAKE_BUILD_TYPE:STRING=Release" in file.read()


@unittest.skipUnless(memory_bytes() >= 16 << 30, "needs a machine with 16 GiB of memory")
@unittest.skipUnless(is_release(), "only in a release build")
class StatementA10(pool.PoolTest):
    SIZE = (4 << 30) + 4097

    def test_a_value_of_more_than_4_GiB_round_trips(self):
        self.start_up(memory="5GiB")
        block = os.urandom(16 * MiB)
        put = self.popen("put", "huge", "--size", str(self.SIZE), stdin=subprocess.PIPE)
        sent = hashlib.blake2b()
        left = self.SIZE
        while left:
            piece = block[: min(left, len(block))]
            put.stdin.write(piece)
            sent.update(piece)
            left -= len(piece)
        put.stdin.close()
        put.stdin = None
        self.assertEqual(put.wait(60), 0, put.stderr.read())
        get = self.popen("get", "huge")
        read = hashlib.blake2b()
        while piece := get.stdout.read(16 * MiB):
            read.update(piece)
        self.assertEqual(get.wait(60), 0, get.stderr.read())
        self.assertEqual(read.hexdigest(), sent.hexdigest())
        objects = self.status()
        self.assertGreaterEqual(objects["used"], self.SIZE)


if __name__ == "__main__":
    unittest.main()
