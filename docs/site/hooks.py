"""What the site adds to the pages of docs/: the pages of the repository's root, the reference of the API, the notebook.

The pages are written for a plain git host. Their links out of docs/ are turned to the site's own pages here.
"""

import ast
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
REFERENCE = """\
# API reference

What `from cgnn_cli import` offers, and then `from cgnn_cli import api`, from the docstrings.
[Python](python-api.md) shows how both are used.

"""
STYLE = """\
/* Wide tables scroll by themselves, figures fit a phone, and text of tables does not break inside words. */
.md-typeset img { max-width: 100%; height: auto; }
.md-typeset table:not([class]) td code { word-break: normal; }
.md-typeset .doc-heading code { white-space: normal; overflow-wrap: anywhere; }
.md-typeset :is(h1, h2, h3, p, li, td) { overflow-wrap: anywhere; }
/* A figure with small letters keeps its size on a phone, and scrolls. */
@media (max-width: 600px) {
  .md-typeset p:has(> img) { overflow-x: auto; }
  .md-typeset p > img:is([src*="figures/"], [src*="images/benchmark"], [src*="images/report"]) {
    max-width: none;
    width: 580px;
  }
}
"""
WORKER = """\
// The search of a site that is opened as a folder: browsers give such a page no workers, so one is a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write("<!DOCTYPE html><body>");
      inside.document.close();
      const script = inside.document.createElement("script");
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise(loaded => script.addEventListener("load", () => loaded(inside)));
      script.src = address;
      inside.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(inside => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    for name, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, "api-reference.md", content=REFERENCE + "\n".join(_blocks())))
    files.append(File.generated(config, "site.css", content=STYLE))
    files.append(File.generated(config, "iframe-worker.js", content=WORKER))
    for path in sorted((ROOT / "docs").glob("*.ipynb")):
        files.append(File.generated(config, f"{path.stem}.md", content=_page_of(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as the site has them."""
    markdown = re.sub(r"^```(\w+) ([\w.-]+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)  # a file to save
    markdown = re.sub(r"\[([\w-]+\.md)\]\(\1", lambda found: f"[{_title(found[1])}]({found[1]}", markdown)
    depth = "../" * page.file.src_uri.count("/")
    for name, there in OUTSIDE.items():
        markdown = re.sub(rf"\]\((?:\.\./)+{re.escape(name)}", f"]({depth}{there}", markdown)
        if page.file.src_uri in OUTSIDE.values():
            markdown = markdown.replace(f"]({name}", f"]({there}")
    if page.file.src_uri in OUTSIDE.values():
        markdown = markdown.replace("](docs/", "](")
    return re.sub(r"\]\(([\w/.-]+)\.ipynb", r"](\1.md", markdown)


def _title(name: str) -> str:
    """The heading of a page, where a link to it shows its file."""
    path = ROOT / "docs" / name
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") if path.is_file() else name


def _blocks() -> list[str]:
    """A block of mkdocstrings for each name that the package and its api export, at the module that defines it."""
    return [f"::: {name}\n" for module in ("__init__", "api") for name in _exported(module)]


def _exported(module: str) -> list[str]:
    tree = ast.parse((ROOT / "cgnn_cli" / f"{module}.py").read_text(encoding="utf-8"))
    origin = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    exported = [
        str(element.value)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AugAssign) and "__all__" in ast.unparse(node)
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant)
    ]
    return [origin.get(name, f"cgnn_cli.{module}.{name}") for name in exported]


def _page_of(path: Path) -> str:
    """A notebook as Markdown: its text, its code and what the code showed."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/svg+xml" in data:
                parts.append("".join(data["image/svg+xml"]))
            elif text := "".join(output.get("text", data.get("text/plain", ""))):
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
