"""The configuration of real processes: files, variables and flags, and what is said of them."""

import json
import os
import subprocess
import unittest

from pool import LARDER, PoolTest


def larder(*arguments, environment=None, value=""):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LARDER_")}
    return subprocess.run(
        [LARDER, *arguments],
        input=value,
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean, **(environment or {})},
    )


class StatementD10(PoolTest):
    """Unknown configuration keys, stray quotes and bad sizes are refused; the effective configuration
    is printed."""

    def file(self, content):
        path = self.path("larder.json")
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def refused(self, *arguments, environment=None):
        result = larder(*arguments, environment=environment)
        self.assertEqual(result.returncode, 2, f"{arguments} {environment}: {result.stderr}")
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_unknown_keys_are_refused_with_the_nearest_one(self):
        for content, hint in (
            ({"node": {"memroy": "4GiB"}}, "node.memroy is no setting (did you mean memory?)"),
            ({"master": {"memory": "4GiB"}}, "there is node.memory"),
            ({"nodes": {"memory": "4GiB"}}, "did you mean node?"),
        ):
            path = self.file(content)
            for command in ("master", "node", "up", "status"):
                message = self.refused(command, "--config", path)
                self.assertIn(path, message)
                self.assertIn(hint, message)
        self.assertIn("--memroy", self.refused("node", "--memroy", "4GiB"))

    def test_stray_quotes_and_bad_sizes_are_refused_wherever_they_stand(self):
        for text, reason in (
            ("'4gb'", "quotes"),
            ('"4gb"', "quotes"),
            ("4.5GiB", "fractions"),
            ("-1", "sign"),
            ("1e3", "'e3'"),
            ("99999999999GiB", "64 bits"),
            ("4 parsecs", "'parsecs'"),
            ("", "empty"),
        ):
            path = self.file({"node": {"memory": text}})
            for place, message in (
                ("--memory: ", self.refused("node", *([f"--memory={text}"] if text else ["--memory", ""]))),
                (
                    "LARDER_NODE_MEMORY: ",
                    self.refused("node", environment={"LARDER_NODE_MEMORY": text}),
                ),
                (f"{path}: node.memory: ", self.refused("node", "--config", path)),
            ):
                self.assertIn(place, message)
                self.assertIn(reason, message)

    def test_broken_json_is_refused_with_its_line(self):
        path = self.file('{"node": {\n  "memory": "4GiB",\n}}')
        self.assertIn(f"{path}: it is no JSON: line 3", self.refused("node", "--config", path))
        path = self.file('{"node": {"memory": 1, "memory": 2}}')
        self.assertIn("node.memory is there twice", self.refused("node", "--config", path))

    def test_times_that_contradict_each_other_are_refused_with_both(self):
        message = self.refused("master", "--heartbeat", "10s")
        self.assertIn("heartbeat (10s)", message)
        self.assertIn("hidden-after-silence (5s)", message)

    def test_what_is_in_force_is_printed_at_start_with_where_it_came_from(self):
        path = self.file({"master": {"lease": "3s", "seed": 5}, "node": {"rack": "r1"}})
        up = self.start(
            *("up", "--listen", "127.0.0.1:0", "--memory", "16MiB", "--config", path, "--seed", "9")
        ).wait_ready()
        line = next(line for line in up.log_text().splitlines() if ": configuration (" in line)
        printed, _ = json.JSONDecoder().raw_decode(line[line.index("{") :])
        self.assertEqual(printed["master"]["lease"], "3s")
        self.assertEqual(printed["master"]["seed"], 9)
        self.assertEqual(printed["node"]["memory"], "16MiB")
        origin = printed["from"]
        self.assertEqual(origin["config"], path)
        self.assertEqual(origin["flag"], ["master.listen", "master.seed", "node.memory"])
        self.assertEqual(origin["file"], ["master.lease", "node.rack"])
        self.assertIn("master.policy", origin["default"])

    def test_what_is_printed_is_a_file_that_gives_the_same_again(self):
        first = larder(
            *("up", "--check-config", "--memory", "1536kb", "--lease", "2.5", "--log-level", "warn"),
            environment={"LARDER_MASTER_POLICY": "fifo"},
        )
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        again = larder("up", "--check-config", "--config", self.file(first.stdout))
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        one, two = json.loads(first.stdout), json.loads(again.stdout)
        self.assertEqual(one.pop("from")["environment"], ["master.policy"])
        for setting in two.pop("from")["default"]:  # what is left open stands there as null
            section, name = setting.split(".")
            self.assertIsNone(two[section][name])
        self.assertEqual(one, two)
        self.assertEqual(one["node"]["memory"], "1536KiB")
        self.assertEqual(one["master"]["lease"], "2500ms")


class Precedence(PoolTest):
    def test_one_file_serves_servers_and_clients(self):
        path = self.path("larder.json")
        with open(path, "w") as file:
            json.dump({"master": {"listen": "127.0.0.1:0"}, "node": {"memory": "16MiB"}}, file)
        up = self.start("up", "--config", path).wait_ready()
        with open(path, "w") as file:
            json.dump({"pool": {"master": up.endpoint}, "client": {"tenant": "a"}}, file)
        by_file = {"LARDER_CONFIG": path}
        self.assertEqual(larder("put", "k", environment=by_file, value="v").returncode, 0)
        self.assertEqual(larder("exists", "-q", "k", environment=by_file).returncode, 0)
        for environment, flags, code in (
            ({"LARDER_TENANT": "b"}, (), 1),  # the environment wins over the file
            ({"LARDER_TENANT": "b"}, ("--tenant", "a"), 0),  # and a flag over both
        ):
            result = larder("exists", "-q", "k", *flags, environment={**by_file, **environment})
            self.assertEqual(result.returncode, code, result.stderr)

    def test_config_shows_all_of_it(self):
        result = larder("config", "--json", environment={"LARDER_TENANT": "t"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        shown = json.loads(result.stdout)
        for section in ("pool", "client", "server", "tcp", "log", "master", "node", "from"):
            self.assertIn(section, shown)
        self.assertEqual(shown["client"]["tenant"], "t")

    def test_a_misspelled_variable_is_told_and_one_of_kubernetes_is_not(self):
        environment = {"LARDER_TENNANT": "t", "LARDER_MASTER_PORT": "tcp://10.0.0.1:7700"}
        result = larder("config", environment=environment)
        self.assertEqual(result.returncode, 0)
        self.assertIn("LARDER_TENNANT, nearest LARDER_TENANT", result.stderr)
        result = larder("status", "--timeout", "0.1", "--master", "127.0.0.1:1", environment=environment)
        self.assertIn("LARDER_TENNANT", result.stderr)
        self.assertNotIn("LARDER_MASTER_PORT", result.stderr)

    def test_up_serves_at_the_address_of_its_master(self):
        result = larder("up", "--listen", "127.0.0.2:0", "--check-config")
        self.assertEqual(result.returncode, 0, result.stderr)
        up = self.start("up", "--listen", "127.0.0.2:0", "--memory", "16MiB").wait_ready()
        self.master = up.endpoint
        self.assertTrue(self.node_endpoint().startswith("127.0.0.2:"))
        self.check_serves()


class Logs(PoolTest):
    def test_as_json_each_line_is_an_object_with_the_fields_of_its_event(self):
        up = self.start_up("--log-format", "json", memory="16MiB")
        self.check_serves()
        up.end()
        events = [json.loads(line) for line in up.log_text().splitlines()]
        for event in events:
            self.assertLessEqual({"time", "level", "component", "event"}, set(event))
        connected = next(event for event in events if event["event"] == "connected to the master")
        self.assertEqual((connected["component"], connected["endpoint"]), ("node", self.master))


class Doctor(PoolTest):
    def test_it_looks_at_the_machine_and_asks_the_master(self):
        self.start_up(memory="16MiB")
        port = self.master.rsplit(":", 1)[1]
        result = larder("doctor", "--json", "--master", self.master, "--port", port)
        findings = {finding["subject"]: finding for finding in json.loads(result.stdout)}
        self.assertIn("kernel", findings)
        self.assertIn("taken by larder (pid", findings[f"port {port}"]["found"])
        self.assertIn("1 nodes", findings[f"master {self.master}"]["found"])
        problems = [one for one in findings.values() if one["verdict"] == "problem"]
        self.assertEqual(result.returncode, 1 if problems else 0, result.stderr)

    def test_a_master_that_is_not_there_is_a_problem(self):
        result = larder("doctor", "--master", "127.0.0.1:1", "--timeout", "0.2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("problem  master 127.0.0.1:1", result.stdout)
        self.assertIn("--master", result.stdout)


if __name__ == "__main__":
    unittest.main()
