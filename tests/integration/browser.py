"""A page in a real browser without a screen: Debian's chromium, driven by Debian's selenium."""

import base64
import contextlib
import os
import shutil
import sys
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None


def needs_browser(test):
    there = webdriver is not None and shutil.which("chromium") and shutil.which("chromedriver")
    return test if there else unittest.skip("no chromium, chromium-driver or python3-selenium")(test)


class Page:
    def __init__(self, driver):
        self.driver = driver

    def run(self, script, *arguments):
        """What the script returns in the page."""
        return self.driver.execute_script(script, *arguments)

    def console(self):
        """What the page and its scripts complained about so far."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def screenshot(self, file):
        """The whole page, not only what the window shows."""
        width, height = self.run(
            "const page = document.documentElement; return [page.scrollWidth, page.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        file.write_bytes(base64.b64decode(shot["data"]))


class Browser(contextlib.AbstractContextManager):
    """with Browser() as browser: page = browser.open(path, width=390, dark=True)"""

    def __enter__(self):
        options = Options()
        options.binary_location = shutil.which("chromium")
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(service=service, options=options)
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, path, width=1100, dark=False, media="screen"):
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
        # Nothing may be asked of the network; what is asks in vain, and is in the console.
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0})
        self.driver.get(path.resolve().as_uri())
        return Page(self.driver)


def with_debians_python():
    """Runs this program again with the Python whose packages Debian's are, if that is another one."""
    debians = "/usr/bin/python3"
    if webdriver is not None or not os.path.exists(debians):
        return
    if os.path.realpath(sys.executable) != os.path.realpath(debians):
        os.execv(debians, [debians, "-B", *sys.argv])
