"""Render ``docs/benchmarks/<topic>.json``, the measurements, as pages with tables and growth plots."""

from pathlib import Path

from sphinx.application import Sphinx

from benchmarks import report


def write_pages(app: Sphinx) -> None:
    """Write ``benchmarks/generated/<topic>.md`` and its plot for every measured topic."""
    source = Path(app.srcdir) / "benchmarks"
    target = source / "generated"
    target.mkdir(exist_ok=True)
    for file in sorted(source.glob("*.json")):
        measured = report.load(file)
        title = measured.topic.replace("_", " ").capitalize()
        page = [f"# {title}", report.as_myst(measured)]
        if report.draw_growth(measured.cases, target / f"{file.stem}.png"):
            page.append(f"![CPU time over size]({file.stem}.png)\n")
        (target / f"{file.stem}.md").write_text("\n\n".join(page))


def setup(app: Sphinx) -> dict:
    """Write the pages before Sphinx looks for sources."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
