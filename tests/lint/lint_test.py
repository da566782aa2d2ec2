"""Plants each violation that the lint promises to find, and expects the finding."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/lint"))

import includes  # noqa: E402
import statements  # noqa: E402
import symbols  # noqa: E402
import table  # noqa: E402
import tidy  # noqa: E402
import words  # noqa: E402

TABLE = """
larder_library(core/base    DEPENDS xxhash Boost::headers)
larder_library(core/space   DEPENDS core/base)
larder_library(core/master  DEPENDS core/space)  # and not core/node
larder_library(core/node    DEPENDS core/space)
larder_library(sim/kernel   DEPENDS core/base)
larder_library(real/rpc     DEPENDS core/base)
larder_test(unit/core/space DEPENDS core/space rapidcheck LABELS quick)
"""


class Lint(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.write("cmake/Libraries.cmake", TABLE)
        for name in ("core/base/time.h", "core/space/space.h", "core/master/master.h",
                     "core/node/node.h", "sim/kernel/kernel.h", "real/rpc/rpc.h"):  # fmt: skip
            self.write(name, "#pragma once\n")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def include_errors(self):
        return includes.check(self.root, table.Table(table.read(self.root)))

    def assert_one(self, errors, *parts):
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])

    def assert_include_is_error(self, path, line, *parts):
        self.write(path, f"#pragma once\n{line}\n")
        self.assert_one(self.include_errors(), f"{path}:2", *parts)


class Includes(Lint):
    def test_the_clean_tree_is_clean(self):
        self.write("core/master/master.cpp",
                   '#include "core/master/master.h"\n#include "core/base/time.h"\n#include <vector>\n')  # fmt: skip
        self.write("tests/unit/core/space/a/b_test.cpp",
                   '#include "core/space/space.h"\n#include <gtest/gtest.h>\n')  # fmt: skip
        self.assertEqual(self.include_errors(), [])

    def test_a_source_that_does_not_begin_with_its_header(self):
        self.write("core/master/master.cpp", '#include "core/base/time.h"\n')
        self.assert_one(self.include_errors(), 'master.cpp:1: the first include is "core/master/master.h"')

    def test_a_folder_outside_depends(self):
        self.assert_include_is_error(
            "core/master/a.h", '#include "core/node/node.h"', "does not reach core/node")

    def test_upwards(self):
        self.assert_include_is_error(
            "core/base/a.h", '#include "core/space/space.h"', "does not reach core/space")

    def test_a_test_outside_depends(self):
        self.assert_include_is_error(
            "tests/unit/core/space/a_test.cpp", '#include "core/node/node.h"', "core/node")

    def test_sim_and_real_never_meet(self):
        self.assert_include_is_error("sim/kernel/a.h", '#include "real/rpc/rpc.h"', "real/rpc")
        (self.root / "sim/kernel/a.h").unlink()
        self.assert_include_is_error("real/rpc/a.h", '#include "sim/kernel/kernel.h"', "sim/kernel")

    def test_not_even_where_the_table_says_so(self):
        self.write("cmake/Libraries.cmake", TABLE + "larder_library(sim/x DEPENDS real/rpc)\n")
        self.assert_one(self.include_errors(), "Libraries.cmake:9", "sim/x must not reach real/rpc")

    def test_core_and_the_world(self):
        for line in ("#include <boost/asio.hpp>", "#include <sys/socket.h>", "#include <thread>",
                     "#include <nlohmann/json.hpp>", "#include <random>"):  # fmt: skip
            with self.subTest(line):
                self.write("core/base/a.h", line + "\n")
                name = line.split()[1]
                self.assertTrue(any(f"core/base/a.h:1: {name}" in e for e in self.include_errors()))

    def test_core_and_its_parts_of_boost(self):
        self.write("core/space/a.h", "#include <boost/intrusive/list.hpp>\n#include <xxhash.h>\n")
        self.assertEqual(self.include_errors(), [])

    def test_a_package_that_depends_does_not_name(self):
        self.assert_include_is_error(
            "real/rpc/a.h", "#include <spdlog/spdlog.h>", "does not reach spdlog::spdlog")

    def test_asio_outside_real(self):
        self.assert_include_is_error("sim/kernel/a.cpp", "#include <boost/asio.hpp>", "only real/")

    def test_a_system_header_in_sim(self):
        self.assert_include_is_error("sim/kernel/a.cpp", "#include <sys/time.h>", "belong to real/")

    def test_protobuf_in_a_header(self):
        self.write("proto/larder.proto", "")
        self.write("cmake/Libraries.cmake", TABLE + "larder_library(proto DEPENDS core/base)\n"
                   "larder_library(sim/x DEPENDS proto)\n")  # fmt: skip
        self.assert_include_is_error("sim/x/a.h", '#include "proto/larder.pb.h"', "no Protobuf")

    def test_protobuf_where_the_table_has_messages(self):
        self.write("proto/larder.proto", "")
        self.write("cmake/Libraries.cmake", TABLE + "larder_protobuf(messages proto/larder.proto)\n"
                   "larder_library(proto DEPENDS core/base messages)\n")  # fmt: skip
        self.write("proto/codec.cpp", '#include <google/protobuf/arena.h>\n'
                   '#include "proto/larder.pb.h"\n')  # fmt: skip
        self.assertEqual(self.include_errors(), [])

    def test_product_code_and_tests(self):
        self.write("sim/kernel/a.h", "#include <gtest/gtest_prod.h>\n")
        self.assert_one(self.include_errors(), "only in tests/")

    def test_a_name_that_is_no_file(self):
        self.assert_include_is_error("core/base/a.h", '#include "core/base/no.h"', "is no file")

    def test_an_own_header_in_brackets_escapes_nothing(self):
        self.assert_include_is_error("sim/kernel/a.cpp", "#include <real/rpc/rpc.h>", "in quotes")

    def test_a_folder_that_nothing_builds(self):
        self.write("core/lost/a.cpp", "")
        self.assert_one(self.include_errors(), "core/lost/a.cpp:1", "no line of cmake/Libraries")


class Words(Lint):
    def findings(self, path, line):
        self.write(path, line + "\n")
        return words.check(self.root)[0]

    def test_each_is_found(self):
        for path, line in (
            ("core/base/a.h", "// TO" + "DO: later"),
            ("tests/unit/a_test.cpp", "std::this_thread::sleep_for(2s);"),
            ("sim/kernel/a.cpp", "std::uniform_int_distribution<int> d;"),
            ("core/base/a.cpp", "auto now = std::chrono::steady_clock::now();"),
            ("core/base/a.cpp", "int x = rand();"),
        ):
            with self.subTest(line):
                self.assert_one(self.findings(path, line), path + ":1")
                (self.root / path).unlink()

    def test_integration_tests_may_sleep_and_comments_may_name_a_clock(self):
        self.assertEqual(self.findings("tests/integration/a_test.cpp", "sleep_for(1s);"), [])
        self.assertEqual(self.findings("core/base/a.h", "// never steady_clock::now()"), [])

    def test_a_long_file_is_a_warning(self):
        self.write("core/base/a.cpp", "\n" * 601)
        errors, warnings = words.check(self.root)
        self.assertEqual(errors, [])
        self.assert_one(warnings, "core/base/a.cpp: 601 lines")


class Symbols(Lint):
    def findings(self, code, most=None):
        self.write("a.cpp", code)
        subprocess.run(["clang++-19", "-std=c++23", "-w", "-c", "a.cpp"], cwd=self.root, check=True)
        subprocess.run(["llvm-ar-19", "rc", "a.a", "a.o"], cwd=self.root, check=True)
        return symbols.check([self.root / "a.a"])

    def test_each_kind_is_found(self):
        for header, expression, name in (
            ("chrono", "std::chrono::steady_clock::now()", "steady_clock"),
            ("chrono", "std::chrono::system_clock::now()", "system_clock"),
            ("time.h", "clock_gettime(0, nullptr)", "clock_gettime"),
            ("sys/time.h", "gettimeofday(nullptr, nullptr)", "gettimeofday"),
            ("ctime", "std::time(nullptr)", "time"),
            ("thread", "std::thread([] {}).join()", "std::thread"),
            ("mutex", "static_cast<std::mutex*>(p)->lock()", "pthread_mutex_lock"),
            ("sys/socket.h", "socket(1, 2, 0)", "socket"),
            ("cstdlib", 'std::getenv("X")', "getenv"),
            ("cstdlib", "std::rand()", "rand"),
            ("random", "std::random_device{}()", "random_device"),
        ):
            with self.subTest(name):
                errors = self.findings(f"#include <{header}>\nvoid f(void* p) {{ {expression}; }}")
                self.assertTrue(any(name in e for e in errors), errors)

    def test_ordinary_code_is_clean(self):
        code = "#include <vector>\nvoid f(std::vector<int>& v) { v.resize(9); }"
        self.assertEqual(self.findings(code), [])


class Tidy(Lint):
    HEADER = """
#include <expected>
namespace larder {
struct Error {};
using Status = std::expected<void, Error>;
Status f();
Error g();
"""

    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / ".clang-tidy", self.root)
        os.environ["XDG_CACHE_HOME"] = str(self.root / "cache")
        self.addCleanup(os.environ.pop, "XDG_CACHE_HOME")

    def findings(self, code, most=None):
        path = "core/base/a.cpp"
        self.write(path, self.HEADER + code + "}\n")
        command = f'clang++-19 -std=c++23 -c {self.root / path}'
        self.write("compile_commands.json",
                   f'[{{"directory": "{self.root}", "command": "{command}", '
                   f'"file": "{self.root / path}"}}]')  # fmt: skip
        return tidy.check(self.root, self.root, 1, most)

    def test_a_dropped_result(self):
        errors, looked_at = self.findings("void h() { f(); }")
        self.assert_one(errors, "bugprone-unused-return-value")
        self.assertEqual(self.findings("void h() { f(); }"), (errors, looked_at), "not remembered")

    def test_a_dropped_error(self):
        self.assert_one(self.findings("void h() { g(); }")[0], "bugprone-unused-return-value")

    def test_a_use_after_move(self):
        code = "int h(std::string a) { auto b = std::move(a); return int(b.size() + a.size()); }"
        self.write("core/base/a.cpp", "")
        errors, _ = self.findings("}\n#include <string>\nnamespace larder {" + code)
        self.assert_one(errors, "bugprone-use-after-move")

    def test_no_more_than_asked_for_and_the_last_changed_first(self):
        self.assertEqual(self.findings("void h() { f(); }", most=0), ([], 0))
        self.assertEqual(self.findings("void h() { f(); }", most=1)[1], 1)
        for name in ("old", "new"):
            self.write(f"{name}.cpp", "")
            for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", name]):
                subprocess.run(["git", *words], cwd=self.root, check=True)
        self.assertEqual(tidy.in_turn(self.root, ["new.cpp", "old.cpp", "untouched.cpp"]),
                         ["new.cpp", "old.cpp", "untouched.cpp"])  # fmt: skip
        self.assertEqual(tidy.in_turn(self.root, ["old.cpp", "new.cpp"])[0], "new.cpp")

    def test_a_file_that_passed_is_not_looked_at_again(self):
        clean = "void h() { (void)f(); }"
        self.assertEqual(self.findings(clean), ([], 1))
        self.assertEqual(self.findings(clean), ([], 0))
        self.assertEqual(self.findings(clean + "\n"), ([], 1))


class Statements(Lint):
    def errors(self, page, **tests):
        self.write("docs/statements.md", page)
        for name, text in tests.items():
            kind = "cpp" if "TEST" in text else "py"
            self.write(f"tests/{'test_' if kind == 'py' else ''}{name}.{kind}", text)
        return statements.check(self.root)

    def test_each_has_a_test_in_either_language(self):
        page = "| A1 | x |\n| B17 | x |\n| C3 | x |\n| C4 | x |\n"
        self.assertEqual(
            self.errors(
                page,
                a="TEST_F(Get, A1ALateRead) {}\nTEST(StatementC3, NoDelay) {}\n",
                b="class StatementB17(Pool):\n    def test_c4_one_call(self):\n",
            ),
            [],
        )

    def test_a_test_may_show_several(self):
        self.assertEqual(self.errors("| A1 | x |\n| B5 | x |\n", a="TEST_P(S, A1B5ARead) {}\n"), [])

    def test_one_without_a_test_is_named(self):
        self.assert_one(self.errors("| A1 | x |\n", a="TEST(Get, A10Sizes) {}\n| A10 |")[:1], "A1 ")

    def test_a_test_of_one_that_is_not_there_is_named(self):
        self.assert_one(self.errors("", a="TEST(Get, A10Sizes) {}\n"), "A10 is not there", "A10Sizes")

    def test_one_that_is_shown_must_not_stand_among_the_others(self):
        page = "## Not shown yet\n| A2 | x |\n"
        self.assert_one(self.errors(page, a="TEST(Get, A2Stall) {}\n"), "A2", "Not shown yet")

    def test_names_that_only_look_alike_are_none(self):
        self.assertEqual(self.errors("", a="TEST(B9s, ABCDE) {}\nTEST(X, A4x) {}\n"), [])


if __name__ == "__main__":
    unittest.main()
