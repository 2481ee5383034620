"""The documentation as a site in site/: built with strict links, then some pages looked at in a browser.

    python -m tests.site

Fails where a link or an anchor leads nowhere, where a page asks for something outside of the site, logs an error, or is
wider than a phone, and where the search finds nothing without a server. Where its packages cannot be installed, or
there is no browser, it says so and leaves that out.
"""

import functools
import html
import http.server
import json
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests import browser
from tests.wheel import PIP, ROOT, Unavailable, installed, run

SITE, NEEDED = ROOT / "site", ROOT / "docs" / "site" / "requirements.txt"
PAGES = ("index.html", "quickstart.html", "own-data.html", "cli.html", "api-reference.html", "results/table1/page.html")
WIDTHS = (1280, 390)
# The page is loaded in a frame of the width that is asked for: a window of Chromium is at least 500 wide.
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><title>frame</title><body style="margin: 0">
<iframe id="inner" src="/PAGE" style="width: WIDTHpx; height: 900px; border: 0"></iframe>
<script>
const errors = [], inner = document.getElementById("inner");
inner.contentWindow.addEventListener("error", event => errors.push(String(event.message || event.target.src)), true);
inner.addEventListener("load", () => setTimeout(() => {
  const page = inner.contentDocument.documentElement;
  document.body.dataset.measured = JSON.stringify({
    window: page.clientWidth,
    page: page.scrollWidth,
    scheme: inner.contentDocument.body.dataset.mdColorScheme,
    requests: inner.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name),
    errors,
  });
}, 500));
</script>
"""


def build(folder: Path) -> None:
    """The site, in an environment of its own: its packages are many, and nothing else needs them."""
    run(sys.executable, "-m", "venv", folder / "tools", folder=folder)
    python = folder / "tools" / "bin" / "python"
    installed(python, *PIP, "install", "-r", NEEDED, folder=folder)
    run(
        python, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", SITE, folder=ROOT, NO_MKDOCS_2_WARNING="1"
    )


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site and the frames around its pages, and logs nothing."""

    def log_message(self, format: str, *arguments: object) -> None:
        return

    def do_GET(self) -> None:
        found = re.fullmatch(r"/frame-([0-9]+)/(.*)", self.path)
        if found is None:
            super().do_GET()
            return
        body = FRAME.replace("PAGE", found[2]).replace("WIDTH", found[1]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)


def look(origin: str, page: str, width: int, folder: Path, *, dark: bool) -> list[str]:
    """What is wrong with a page at a width."""
    result = browser.run(
        folder,
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--enable-logging=stderr",
        "--log-level=0",
        f"--window-size={max(width, 600)},1000",
        "--virtual-time-budget=20000",
        "--timeout=90000",
        "--dump-dom",
        f"{origin}/frame-{width}/{page}",
    )
    found = re.search(r'data-measured="([^"]*)"', result.stdout)
    if found is None:
        return ["it did not load"]
    seen = json.loads(html.unescape(found[1]))
    wrong = [f"an error: {error}" for error in seen["errors"]]
    wrong += [f"the console says {line[-200:]}" for line in result.stderr.splitlines() if "CONSOLE" in line]
    wrong += [f"it asks for {name}" for name in seen["requests"] if not name.startswith((origin, "data:", "blob:"))]
    if seen["page"] > seen["window"]:
        wrong.append(f"it is {seen['page']} wide")
    if seen["scheme"] != ("slate" if dark else "default"):
        wrong.append(f"its colours are {seen['scheme']}")
    return wrong


def search(folder: Path) -> list[str]:
    """What is wrong with the search where the site is opened as a folder, without any server."""
    page = f"{(SITE / 'index.html').as_uri()}?q=hitting+time"
    result = browser.run(folder, "--virtual-time-budget=20000", "--timeout=90000", "--dump-dom", page)
    return [] if 'class="md-search-result__item"' in result.stdout else ["the search of a folder finds nothing"]


def profile(folder: Path, number: int, width: int) -> Path:
    """A browser of its own for each look: the site keeps the colours in which it was seen first."""
    found = folder / f"{number}-{width}"
    found.mkdir()
    return found


def look_at_pages() -> list[str]:
    """What is wrong with some pages, on a desktop and on a phone, by day and by night."""
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, tempfile.TemporaryDirectory() as name:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_address[1]}"
        wrong = [
            f"{page} at {width}: {fault}"
            for number, page in enumerate(PAGES)
            for width in WIDTHS
            for fault in look(origin, page, width, profile(Path(name), number, width), dark=number % 2 == 1)
        ]
        server.shutdown()
        wrong += search(profile(Path(name), len(PAGES), WIDTHS[0]))
    return wrong


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        try:
            build(Path(name))
        except Unavailable as reason:
            print(f"site: skipped, for its packages cannot be installed here: {reason}")
            return
    outside = [
        f"{path.relative_to(SITE)}: {found}"
        for path in sorted(SITE.rglob("*.html"))
        for found in re.findall(
            r'<(?:script|img|link|iframe)\b[^>]*(?:src|href)="((?:https?:)?//[^"]*)"', path.read_text()
        )
        if "canonical" not in found
    ]
    if outside:
        raise SystemExit("the site asks for what is not in it: " + "; ".join(outside[:5]))
    print(f"site: built, every link leads somewhere ({time.monotonic() - began:.0f} s)", flush=True)
    if browser.browser() is None:
        print("site: not looked at, for there is no browser here")
        return
    if wrong := look_at_pages():
        raise SystemExit("\n".join(wrong))
    print(f"site: {len(PAGES)} pages looked at on a desktop and on a phone, and searched as a folder", end=" ")
    print(f"({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()
