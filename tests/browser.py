"""Pages opened in headless Chromium, without any driver: what its own flags can tell."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--timeout=20000",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MEASURE = """
<script>
addEventListener("load", () => {
  const wide = document.documentElement.clientWidth;
  const boxed = element => element.closest(".scroll, .drawing") && !element.matches(".scroll, .drawing");
  const beyond = [...document.querySelectorAll("body *")].filter(element => {
    if (boxed(element)) return false;
    const box = element.getBoundingClientRect();
    return box.width && (box.right > wide + 1 || box.left < -1);
  });
  document.body.dataset.measured = JSON.stringify({
    window: wide,
    page: document.documentElement.scrollWidth,
    beyond: beyond.map(element => element.tagName + ": " + element.textContent.trim().slice(0, 40)),
    requests: performance.getEntriesByType("resource").map(entry => entry.name),
  });
});
</script>
"""


@dataclass(frozen=True)
class Seen:
    """What a page did at one width: its size, elements that stick out, what it loaded, and what it logged."""

    window: int
    page: int
    beyond: list[str]
    requests: list[str]
    console: list[str]


def browser() -> str | None:
    """The browser of this machine."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def open_page(page: Path, folder: Path, width: int, *, dark: bool = False) -> Seen:
    """Open a copy of a page, which differs in a script that measures it and in the policy that would forbid scripts."""
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', text)
    assert policy is not None, "the page allows scripts and outside resources"
    copy = folder / f"measured-{width}.html"
    copy.write_text(text.replace(policy[0], "").replace("</head>", MEASURE + "</head>"), encoding="utf-8")
    # A window of Chromium is at least 500 wide, so a narrow page is opened in a frame of its own.
    frame = folder / f"frame-{width}.html"
    frame.write_text(FRAME.replace("PAGE", copy.name).replace("WIDTH", str(width)), encoding="utf-8")
    result = run(
        folder,
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
        "--log-level=0",
        f"--window-size={max(width, 600)},1000",
        "--dump-dom",
        frame.as_uri(),
    )
    found = re.search(r'data-measured="([^"]*)"', result.stdout)
    assert found is not None, result.stdout[-2000:] + result.stderr[-2000:]
    values = json.loads(html.unescape(found[1]))
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    return Seen(**values, console=console)


def drive(page: Path, folder: Path, *scripts: str) -> list[object]:
    """Load a copy of a page once for each script, one after the other in one browser; what the scripts return."""
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', text)
    assert policy is not None
    copies = []
    for number, script in enumerate(scripts):
        copy = folder / f"driven-{number}.html"
        inside = f"<script>document.body.dataset.found = JSON.stringify((() => {{ {script} }})());</script></body>"
        copy.write_text(text.replace(policy[0], "").replace("</body>", inside), encoding="utf-8")
        copies.append(copy.name)
    frame = folder / "driven.html"
    frame.write_text(DRIVER.replace("PAGES", json.dumps(copies)), encoding="utf-8")
    result = run(folder, "--allow-file-access-from-files", "--dump-dom", frame.as_uri())
    found = re.search(r'data-found="([^"]*)"', result.stdout)
    assert found is not None, result.stdout[-2000:] + result.stderr[-2000:]
    return [json.loads(each) for each in json.loads(html.unescape(found[1]))]


def printed_pages(page: Path, folder: Path) -> int:
    """How many sheets a page takes on paper."""
    printed = folder / "printed.pdf"
    run(folder, "--no-pdf-header-footer", f"--print-to-pdf={printed}", page.as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))


DRIVER = """<!DOCTYPE html><title>driver</title><body><script>
const pages = PAGES, found = [];
const next = () => {
  if (found.length === pages.length) { document.body.dataset.found = JSON.stringify(found); return; }
  const inner = document.createElement("iframe");
  inner.addEventListener("load", () => { found.push(inner.contentDocument.body.dataset.found); next(); });
  inner.src = pages[found.length];
  document.body.append(inner);
};
next();
</script></body>
"""
FRAME = """<!DOCTYPE html><title>frame</title>
<iframe id="inner" src="PAGE" style="width: WIDTHpx; height: 900px; border: 0"></iframe>
<script>
const inner = document.getElementById("inner");
const wait = () => {
  const measured = inner.contentDocument && inner.contentDocument.body && inner.contentDocument.body.dataset.measured;
  if (measured) document.body.dataset.measured = measured; else setTimeout(wait, 20);
};
inner.addEventListener("load", wait);
</script>
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the browser with a profile of its own."""
    found = browser()
    assert found is not None
    command = [found, *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
