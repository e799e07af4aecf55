"""A browser driven through chromedriver's HTTP and JSON (W3C WebDriver), with Python's own library."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """Why there is no browser here, or None."""
    for names in (("chromedriver",), ("chromium", "google-chrome", "chrome")):
        if not any(shutil.which(n) for n in names):
            return names[0] + " is not installed"
    return None


class Browser:
    """One headless browser with a profile of its own; close() ends both processes."""

    def __init__(self, width=1200, height=900):
        self.profile = tempfile.mkdtemp(prefix="stave-browser-")
        self.log = open(os.path.join(self.profile, "driver.log"), "w+", encoding="utf-8")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=self.log, stderr=subprocess.STDOUT)
        self.base = f"http://127.0.0.1:{self.port()}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     f"--window-size={width},{height}", f"--user-data-dir={self.profile}/profile"]
        options = {"args": arguments}
        binary = next((b for b in map(shutil.which, ("chromium", "google-chrome", "chrome")) if b), None)
        if binary:
            options["binary"] = binary
        capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                        "goog:loggingPrefs": {"browser": "ALL"}}}
        try:
            self.session = self.call("POST", "/session", {"capabilities": capabilities})["sessionId"]
        except Exception:
            self.stop()
            raise

    def port(self):
        end = time.time() + 60
        while time.time() < end:
            self.log.flush()
            with open(self.log.name, encoding="utf-8") as f:
                for line in f:
                    if "started successfully on port" in line:
                        return int(line.split("port")[1].strip(" .\n"))
            time.sleep(0.05)
        raise RuntimeError("chromedriver does not start")

    def call(self, method, path, body=None):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(json.load(e)["value"]["message"]) from None

    def do(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, path):
        self.do("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def script(self, code, *arguments):
        """The value that code returns; it may be a promise."""
        return self.do("POST", "/execute/sync", {"script": code, "args": list(arguments)})

    def wait(self, code, what, seconds=30):
        end = time.time() + seconds
        while time.time() < end:
            if self.script(code):
                return
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s for: {what}")

    def size(self, width, height):
        """Of the page's window, whatever the least width of a real one is."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def cdp(self, command, **parameters):
        return self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def actions(self, *sources):
        self.do("POST", "/actions", {"actions": list(sources)})

    def keys(self, *keys):
        steps = [{"type": t, "value": k} for k in keys for t in ("keyDown", "keyUp")]
        self.actions({"type": "key", "id": "keys", "actions": steps})

    def move(self, *steps):
        """Steps: (x, y) moves, "down", "up"."""
        made = []
        for s in steps:
            if isinstance(s, tuple):
                made.append({"type": "pointerMove", "duration": 40, "x": round(s[0]), "y": round(s[1]), "origin": "viewport"})
            else:
                made.append({"type": "pointer" + s.capitalize(), "button": 0})
        self.actions({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": made})

    def console(self):
        return [e for e in self.do("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path, whole=False):
        if whole:
            shot = self.cdp("Page.captureScreenshot", captureBeyondViewport=True, format="png")["data"]
        else:
            shot = self.do("GET", "/screenshot")
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot))

    def pdf(self):
        return base64.b64decode(self.do("POST", "/print", {"background": True}))

    def stop(self):
        self.driver.terminate()
        self.driver.wait()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def close(self):
        try:
            self.call("DELETE", f"/session/{self.session}")
        finally:
            self.stop()
