"""The installed library, as a project of somebody else finds, builds and runs it: examples/cpp."""

import pathlib
import subprocess
import tempfile
import unittest

import pool

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(pool.LARDER).resolve().parents[1]


def run(*command, **options):
    return subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        **options,
    )


def cache_value(name):
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.partition("=")[2]
    return ""


class InstalledLibrary(pool.PoolTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="larder-library-")
        cls.addClassCleanup(cls.folder.cleanup)
        top = pathlib.Path(cls.folder.name)
        # The folder of the build has another name, so that nothing of it is found by accident.
        cls.prefix, cls.examples = top / "prefix", top / "examples"
        cls.must("cmake", "--install", BUILD, "--prefix", cls.prefix)
        sanitizers = cache_value("LARDER_SANITIZE")
        cls.must(
            "cmake", "-S", ROOT / "examples/cpp", "-B", cls.examples,
            f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            f"-DCMAKE_CXX_COMPILER={cache_value('CMAKE_CXX_COMPILER')}",
            f"-DCMAKE_CXX_FLAGS={'-fsanitize=' + sanitizers if sanitizers else ''}",
        )  # fmt: skip
        cls.must("cmake", "--build", cls.examples, "--parallel", "2")

    @classmethod
    def must(cls, *command):
        result = run(*command)
        if result.returncode != 0:
            raise AssertionError(f"{command}:\n{result.stdout}")

    def test_each_installed_header_includes_only_what_is_installed(self):
        headers = sorted((self.prefix / "include").rglob("*.h"))
        self.assertIn(self.prefix / "include/larder/pool.h", headers)
        for header in headers:
            for line in header.read_text().splitlines():
                if line.startswith('#include "'):
                    name = line.split('"')[1]
                    self.assertTrue((self.prefix / "include" / name).exists(), f"{header}: {line}")

    def test_the_examples_run_against_an_embedded_pool(self):
        for example in ("put_get", "asynchronous"):
            result = run(self.examples / example)
            self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("one two", result.stdout)

    def test_the_examples_run_against_a_real_pool(self):
        self.start_up()
        result = run(self.examples / "put_get", self.master)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("read 33 bytes back", result.stdout)
        self.assertIn("OBJECT_NOT_FOUND (-704)", result.stdout)
        self.assertEqual(len(self.get("layer 0/page 1")), 33)
        result = run(self.examples / "asynchronous", self.master)
        self.assertEqual((result.returncode, result.stdout), (0, "one two\n"))

    def test_the_short_example_is_short(self):
        lines = (ROOT / "examples/cpp/put_get.cpp").read_text().splitlines()
        self.assertLessEqual(len(lines), 30)


if __name__ == "__main__":
    unittest.main()
