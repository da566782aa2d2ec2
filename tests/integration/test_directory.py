"""What is in the pool is seen and pruned: ls, stat, rm by pattern."""

import json
import subprocess
import unittest

from pool import LARDER, PoolTest, die_with_parent, wait_until

# Keys that a shell, a terminal, JSON or a pattern could spoil, in the form that commands show and
# that --escaped reads.
ODD_KEYS = {
    b"a/b@c d": "a/b@c d",
    b"100%": "100%25",
    b"%41": "%2541",
    "\u00e4\u00f6\u00fc".encode(): "\u00e4\u00f6\u00fc",
    "\U0001f600".encode(): "\U0001f600",
    "\u202etxt".encode(): "%E2%80%AEtxt",
    b"nul\x00inside": "nul%00inside",
    b"\x1b[2J": "%1B[2J",
    b"line\nbreak": "line%0Abreak",
    b"\xff\xfe": "%FF%FE",
    b'"quoted" \\': '"quoted" \\',
    b"[a-z]*?": "[a-z]*?",
    b"-x": "-x",
    b"k" * 1024: "k" * 1024,
    b"\xff" * 1024: "%FF" * 1024,
}


class Directory(PoolTest):
    def listed(self, *arguments):
        return sorted(self.do("ls", *arguments).decode().splitlines())

    def details(self, *arguments):
        return [json.loads(line) for line in self.do("ls", "--json", *arguments).splitlines()]

    def stat(self, *keys):
        return json.loads(self.do("stat", "--json", *keys))


class Lists(Directory):
    def test_globs_prefixes_and_regular_expressions(self):
        self.start_up()
        for key in ("page/1", "page/2", "page/10", "other/1", "pagelike"):
            self.put(key, b"v" * 100)
        self.assertEqual(len(self.listed()), 5)
        self.assertEqual(self.listed("page/*"), ["page/1", "page/10", "page/2"])
        self.assertEqual(self.listed("page/?"), ["page/1", "page/2"])
        self.assertEqual(self.listed("--prefix", "page"), ["page/1", "page/10", "page/2", "pagelike"])
        self.assertEqual(self.listed("--regex", "/1$"), ["other/1", "page/1"])
        self.assertEqual(self.listed("--prefix", "o", "*1"), ["other/1"])
        self.assertEqual(self.listed("none*"), [])
        self.assertEqual(self.listed("--tenant", "other"), [])
        self.assertIn("missing )", self.fail_to(2, "ls", "--regex", "a(b"))
        self.assertIn("position 1 is not closed", self.fail_to(2, "ls", "a[b"))
        self.assertIn("100 B", self.do("ls", "-l", "page/1").decode())

    def test_page_by_page(self):
        self.start_up()
        keys = {f"k{i}" for i in range(10)}
        for key in keys:
            self.put(key, b"v")
        seen, cursor = [], []
        while True:
            lines = self.details("--limit", "4", *cursor)
            self.assertLessEqual(len(lines), 5)
            seen += [line["key"] for line in lines if "key" in line]
            if "next" not in lines[-1]:
                break
            cursor = ["--cursor", lines[-1]["next"]]
        self.assertEqual(len(seen), 10)
        self.assertEqual(set(seen), keys)

    def test_listing_and_describing_is_no_use(self):
        self.start_up()
        self.put("k", b"v")
        for _ in range(3):
            self.do("ls")
            self.do("stat", "k")
        status = self.status()
        self.assertEqual((status["gets"], status["hits"]), (0, 0))
        self.do("rm", "k")  # nothing was leased


class Describes(Directory):
    def test_everything_that_is_known_of_a_key(self):
        self.start_master()
        for name in ("a", "b"):
            self.start_node(name, "--host", name)
        put = self.put("k", b"v" * 1000, "--replicas", "2", "--soft-pin", "60")
        self.put("short", b"v", "--time-to-live", "1000")
        k, short, none = json.loads(
            self.run_command("stat", "--json", "k", "short", "none").stdout
        )
        self.assertEqual(none["error"]["name"], "OBJECT_NOT_FOUND")
        (version,) = k["versions"]
        self.assertEqual(version["put_id"], put["put_id"])
        self.assertEqual((version["state"], version["size"]), ("complete", 1000))
        self.assertAlmostEqual(version["soft_pin_s"], 60, delta=30)
        self.assertIsNone(version["time_to_live_s"])
        self.assertEqual({r["node"] for r in version["replicas"]}, {"a", "b"})
        endpoints = {node["name"]: node["endpoint"] for node in self.status()["nodes"]}
        for replica in version["replicas"]:
            self.assertEqual(replica["endpoint"], endpoints[replica["node"]])
            self.assertEqual((replica["state"], replica["node_state"]), ("COMPLETE", "shown"))
        self.assertAlmostEqual(short["versions"][0]["time_to_live_s"], 1000, delta=60)
        text = self.do("stat", "k").decode()
        for words in ("1,000 B", "soft, for", "COMPLETE on a (shown)", "last got never"):
            self.assertIn(words.replace(",", "") if words == "1,000 B" else words, text)

    def test_of_a_value_on_a_silent_node_it_is_said_where_it_is(self):
        self.start_master()
        node = self.start_node("a")
        self.put("k", b"v")
        node.destroy()
        wait_until(lambda: self.node_states() == {"a": "hidden"}, "the node is hidden")
        (item,) = self.details()
        self.assertEqual((item["replicas"], item["readable_replicas"]), (1, 0))
        self.assertEqual(self.stat("k")[0]["versions"][0]["replicas"][0]["node_state"], "hidden")


class Prunes(Directory):
    def fill(self, count=20):
        self.start_up()
        for i in range(count):
            self.put(f"page/{i}", b"v" * 10)
        self.put("keep", b"v")

    def test_by_pattern_prefix_and_all(self):
        self.fill()
        removed = json.loads(self.do("rm", "--json", "--pattern", "page/?"))
        self.assertEqual(removed, {"removed": 10, "bytes": 100, "gone": 0, "skipped": {}})
        self.assertEqual(len(self.listed()), 11)
        self.assertIn(b"removed 10 objects", self.do("rm", "--prefix", "page/"))
        self.assertEqual(self.listed(), ["keep"])
        self.do("rm", "--all")
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.status()["objects"], 0)

    def test_what_is_leased_is_skipped_and_counted_unless_it_is_forced(self):
        self.fill(3)

        def skipped():
            self.put("page/1", b"v")
            self.do("exists", "page/1")
            result = self.run_command("rm", "--json", "--prefix", "page/")
            if result.returncode == 0:  # the lease was over before the removal came
                return None
            self.assertIn(b"OBJECT_HAS_LEASE", result.stderr)
            return json.loads(result.stdout)["skipped"]

        self.assertEqual(
            wait_until(skipped, "a removal within a second"), {"OBJECT_HAS_LEASE": 1}
        )
        self.do("rm", "--force", "--prefix", "page/")
        self.assertEqual(self.listed(), ["keep"])


class StatementD13(Directory):
    """Keys of any bytes round-trip through every command; one byte more is an error."""

    def raw(self, *arguments, value=b""):
        return subprocess.run(
            [LARDER, arguments[0], "--master", self.master, *arguments[1:]],
            input=value,
            capture_output=True,
            timeout=60,
            preexec_fn=die_with_parent,
        )

    def test_every_command_takes_and_shows_any_key(self):
        self.start_up()
        for key, shown in ODD_KEYS.items():
            with self.subTest(shown[:40]):
                escaped = "".join(f"%{byte:02x}" for byte in key)
                put = self.raw("put", "--json", "--escaped", "--", escaped, value=key)
                self.assertEqual(json.loads(put.stdout)["key"], shown, put.stderr)
                # The form that is shown is one that --escaped reads.
                exists = self.raw("exists", "--json", "--escaped", "--", shown)
                self.assertEqual(json.loads(exists.stdout)[0]["key"], shown)
                self.assertTrue(json.loads(exists.stdout)[0]["exists"])
                self.assertEqual(self.raw("get", "--escaped", "--", shown).stdout, key)
                stat = self.raw("stat", "--json", "--escaped", "--", shown)
                self.assertEqual(json.loads(stat.stdout)[0]["key"], shown)
                for command in ("exists", "stat"):
                    text = self.raw(command, "--escaped", "--", shown).stdout
                    self.assertIn(shown, text.decode())
                    self.assertFalse(any(b < 32 and b != 10 for b in text), text)
                if b"\0" not in key:
                    self.assertEqual(self.raw("get", "--", key).stdout, key)
        self.assertEqual(self.listed(), sorted(ODD_KEYS.values()))
        self.assertEqual(sorted(i["key"] for i in self.details()), sorted(ODD_KEYS.values()))
        for key, shown in ODD_KEYS.items():
            with self.subTest(shown[:40]):
                removed = self.raw("rm", "--json", "--force", "--escaped", "--", shown)
                self.assertEqual(json.loads(removed.stdout), [{"key": shown, "removed": True}])
        self.assertEqual(self.listed(), [])

    def test_one_byte_more_is_an_error_of_every_command(self):
        self.start_up()
        longer = "k" * 1025
        for command in ("put", "get", "exists", "stat", "rm"):
            with self.subTest(command):
                message = self.fail_to(2, command, longer, value=b"x")
                self.assertIn("INVALID_KEY", message)
                self.assertIn("1025", message)
        self.assertEqual(self.status()["objects"], 0)


if __name__ == "__main__":
    unittest.main()
