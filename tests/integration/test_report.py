"""The page of a run in a real browser: it draws, nothing complains, and what can be used works."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import browser
from pool import BINARIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMULATOR = BINARIES / "larder-sim"
SAMPLE = ROOT / "workloads/samples/sessions.jsonl"


def simulate(*arguments):
    result = subprocess.run([SIMULATOR, *arguments], capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        raise AssertionError(f"{arguments}: {result.stderr}")
    return result.stdout


def percent(share):
    """As the page writes it."""
    return f"{100 * share:.{2 if share < 0.1 else 1}f} %"


class Drawn(unittest.TestCase):
    """A page that was opened; the classes below say which."""

    file = None

    @classmethod
    def setUpClass(cls):
        if cls is Drawn:
            raise unittest.SkipTest("has no page")
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.file = cls.make()
        # Where a person may look at them.
        cls.shots = pathlib.Path(os.environ.get("LARDER_SCREENSHOTS", cls.directory / "shots"))
        cls.shots.mkdir(parents=True, exist_ok=True)
        cls.browser = cls.enterClassContext(browser.Browser())

    def open(self, **look):
        page = self.browser.open(self.file, **look)
        self.assertEqual(page.run("return document.body.dataset.ready"), "yes")
        self.assertEqual(page.console(), [])
        return page

    def test_it_draws_everything_light_dark_on_a_phone_and_for_print(self):
        for name, look in (("light", {}), ("dark", {"dark": True}), ("phone", {"width": 390}),
                           ("phone-dark", {"width": 390, "dark": True}),
                           ("print", {"media": "print", "width": 760})):  # fmt: skip
            with self.subTest(name):
                page = self.open(**look)
                page.screenshot(self.shots / f"{type(self).__name__.lower()}-{name}.png")
                drawn = page.run("return document.querySelectorAll('figure svg').length")
                self.assertGreaterEqual(drawn, self.figures)
                too_wide = page.run("const page = document.documentElement;"
                                    "return page.scrollWidth - page.clientWidth")  # fmt: skip
                self.assertLessEqual(too_wide, 0)
                self.assertNotRegex(page.run("return document.querySelector('main').innerHTML"),
                                    r"\bNaN\b|\bundefined\b|\[object")  # fmt: skip

    def test_background_and_ink_follow_the_readers_scheme(self):
        for what in ("backgroundColor", "color"):
            ask = f"return getComputedStyle(document.body).{what}"
            self.assertNotEqual(self.open().run(ask), self.open(dark=True).run(ask))


@browser.needs_browser
class Report(Drawn):
    figures = 13

    @classmethod
    def make(cls):
        files = cls.directory / "run"
        # Caches so small that the pool has something to do.
        simulate("replay", SAMPLE, "--cluster", "8xh800-8x200", "--model", "llama-3.1-8b",
                 "--engines", "2", "--gpus-per-engine", "1", "--gpu-memory-share", "0.25",
                 "--host-memory", "6GiB", "--nodes", "2", "--memory-per-node", "8GiB",
                 "--fail", "node:1@60s+60s", "--seeds", "2", "--out", files)  # fmt: skip
        simulate("report", files)
        cls.numbers = json.loads((files / "run.json").read_text())
        return files / "report.html"

    def test_it_says_the_numbers_of_the_run(self):
        page = self.open()
        text = page.run("return document.body.innerText")
        self.assertIn("llama-3.1-8b on 8xh800-8x200", text)
        pages, spread = self.numbers["pages"], self.numbers["spread"]["hit_ratio"]
        self.assertIn(f"; {percent(spread['least'])} to {percent(spread['most'])} in 2 runs",
                      text.replace("\u00a0", " "))  # fmt: skip
        self.assertIn(f"{pages['hits']:,} of {pages['asked']:,}", text)
        for reason, number in pages["misses_by_reason"].items():
            if number:
                self.assertIn(f"{number:,} (", text)
                self.assertIn(reason.replace("_", " "), text)
        faults = page.run("return document.querySelectorAll('svg .fault title').length")
        self.assertGreater(faults, 0)

    def test_the_slider_paints_the_links_of_another_time(self):
        page = self.open()
        colours = ("return [...document.querySelectorAll('svg .link')]"
                   ".map(line => line.style.stroke).join()")  # fmt: skip
        peak = page.run(colours)
        page.run("const slider = document.getElementById('when'); slider.value = 1;"
                 "slider.dispatchEvent(new Event('input'));")  # fmt: skip
        self.assertNotEqual(page.run(colours), peak)
        when = page.run("return document.querySelector('output').textContent")
        self.assertRegex(when, r"^from \d+:\d\d:\d\d to ")
        self.assertEqual(page.console(), [])

    def test_a_chosen_link_is_shown_over_time(self):
        page = self.open()
        page.run("document.querySelector('svg .link.used').dispatchEvent(new Event('click'))")
        self.assertGreater(page.run("return document.querySelectorAll('.columns i').length"), 1)
        self.assertRegex(page.run("return document.querySelector('.chosen b').textContent"),
                         "host0/")  # fmt: skip
        self.assertEqual(page.console(), [])

    def test_pointing_at_a_plot_shows_the_values_in_all(self):
        page = self.open()
        values = ("return [...document.querySelectorAll('.legend b')]"
                  ".map(each => each.textContent)")  # fmt: skip
        page.run("""
            const plot = document.querySelector('figure.stacked svg');
            const area = plot.getBoundingClientRect();
            plot.dispatchEvent(new PointerEvent('pointermove',
                {clientX: area.x + area.width * 0.4, clientY: area.y + area.height / 2}))""")
        shown = page.run(values)
        self.assertTrue(all(shown), shown)
        page.run("document.querySelector('figure.stacked svg')"
                 ".dispatchEvent(new PointerEvent('pointerleave'))")  # fmt: skip
        self.assertFalse(any(page.run(values)))
        self.assertEqual(page.console(), [])


    def test_the_pool_stands_beside_its_bounds(self):
        curve = self.numbers["pool_curve"]
        page = self.open()
        text = page.run("return document.body.innerText").replace("\u00a0", " ")
        for name, found in (("this run", curve["found"]), ("in time", curve["fetched"]), ("LRU", curve["lru_found"]),
                            ("any policy", curve["belady_found"]),
                            ("no limit", curve["infinite_found"])):  # fmt: skip
            self.assertRegex(text, rf"{name}\s+{found:,} \({percent(found / curve['asked'])}\)")
        plot = "document.querySelector('#pool-curve svg')"
        self.assertEqual(page.run(f"return {plot}.querySelectorAll('path.stroke').length"), 2)
        said = page.run(f"return {plot}.querySelector('.dot title').textContent")
        share = percent(curve["found"] / curve["asked"])
        self.assertEqual(said.replace("\u00a0", " "),
                         f"this run: {share}, {curve['pool_pages']:,} pages, 16.00 GiB")  # fmt: skip
        # The dot and the end of each line are where their shares are, on one scale.
        height = """const share = y => (208 - y) / 196;
            const end = path => Number(path.getAttribute('d').match(/ ([\\d.]+)H/)[1]);
            const dot = {plot}.querySelector('.dot').getAttribute('cy');
            const limit = {plot}.querySelector('.limit').getAttribute('y1');
            return [share(dot), share(limit), ...[...{plot}.querySelectorAll('path.stroke')].map(path => share(end(path)))]"""
        dot, limit, belady, lru = page.run(height.replace("{plot}", plot))
        self.assertAlmostEqual(dot / limit, curve["found"] / curve["infinite_found"], places=2)
        self.assertAlmostEqual(belady, limit, places=2)
        self.assertAlmostEqual(lru, limit, places=2)

    def test_pointing_at_the_curve_tells_a_size(self):
        page = self.open()
        page.run("""
            const plot = document.querySelector('#pool-curve svg');
            const area = plot.getBoundingClientRect();
            plot.dispatchEvent(new PointerEvent('pointermove',
                {clientX: area.x + area.width * 0.8, clientY: area.y + area.height / 2}))""")
        said = "return document.querySelector('#pool-curve .at').textContent"
        self.assertRegex(page.run(said), r"iB, [\d,]+ pages: LRU [\d.]+\s%")
        page.run("document.querySelector('#pool-curve svg')"
                 ".dispatchEvent(new PointerEvent('pointerleave'))")  # fmt: skip
        self.assertEqual(page.run(said), "")
        self.assertEqual(page.console(), [])

    def test_files_of_before_say_that_they_have_no_curve(self):
        before = self.directory / "before"
        before.mkdir()
        numbers = {name: of for name, of in self.numbers.items() if name != "pool_curve"}
        (before / "run.json").write_text(json.dumps(numbers))
        simulate("report", before)
        page = self.browser.open(before / "report.html")
        self.assertEqual(page.console(), [])
        text = page.run("return document.body.innerText")
        self.assertIn("No data: these files are of an earlier version of larder-sim", text)


@browser.needs_browser
class Plan(Drawn):
    figures = 2

    @classmethod
    def make(cls):
        candidates = [
            {"cost_per_hour": 25.0 * hosts, "name": f"{hosts} hosts", "varied": "", "meets": hosts > 2,
             "error": "" if hosts > 1 else "a model that does not fit <b>", "overloaded": hosts == 2,
             "ttft_p90_s": 4 / hosts if hosts > 1 else None, "hit_ratio": 0.1 * hosts,
             "saved_gpu_s": 5000.0 * hosts, "on_ttft_frontier": hosts > 1,
             "on_saved_frontier": hosts > 1}
            for hosts in range(1, 6)
        ]  # fmt: skip
        plan = {"format": "larder-plan", "version": 1, "objectives": ["ttft_p90<2s"],
                "candidates": candidates, "cheapest": 2, "cheapest_without_one_node": 3}  # fmt: skip
        (cls.directory / "plan.json").write_text(json.dumps(plan))
        simulate("report", cls.directory)
        return cls.directory / "report.html"

    def test_it_says_the_cheapest_and_shows_each_setting(self):
        page = self.open()
        text = page.run("return document.body.innerText")
        self.assertIn("The cheapest that meets them: 3 hosts, 75 an hour.", text)
        self.assertIn("when a node is lost: 4 hosts, 100 an hour", text)
        self.assertIn("a model that does not fit <b>", text)
        self.assertEqual(page.run("return document.querySelectorAll('tbody tr').length"), 5)
        self.assertEqual(page.run("return document.querySelectorAll('svg .dot').length"), 3 + 4)


class Damaged(unittest.TestCase):
    def test_what_is_no_run_is_said(self):
        with tempfile.TemporaryDirectory() as directory:
            for text, reason in (("", "run.json"), ("{}", "/format"),
                                 ('{"format": "larder-run"}', "/version")):  # fmt: skip
                (pathlib.Path(directory) / "run.json").write_text(text)
                result = subprocess.run(
                    [SIMULATOR, "report", directory], capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, 1, text)
                self.assertIn(reason, result.stderr)


if __name__ == "__main__":
    browser.with_debians_python()
    unittest.main()
