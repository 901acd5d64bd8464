"""Render mathematics as MathML, which browsers show by themselves: no script, no font, no network."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def visit_inline(writer, node):
    """Write a formula of the text."""
    writer.body.append(tex2mathml(node.astext()))
    raise SkipNode


def visit_display(writer, node):
    """Write a formula of its own line."""
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="display-math">{formula}</div>')
    raise SkipNode


def setup(app: Sphinx) -> dict:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
