"""Sphinx extension: turn equation numbers such as (105) in the text into links to the equation.

Equations are MyST targets named ``eq-105``. A number that is not such a target, as in "ν tutorial (88)", stays text.
"""

import re

from docutils import nodes

PAGES = ("math/", "guide/", "decisions/", "notes/")
NUMBER = re.compile(r"(\(\d{1,3}\))")
WITHOUT_LINKS = (nodes.literal, nodes.literal_block, nodes.reference, nodes.math, nodes.math_block, nodes.title)


def link_equations(app, doctree, docname):
    """Replace the equation numbers in one page by references."""
    if not docname.startswith(PAGES):
        return
    labels = app.env.get_domain("std").anonlabels
    for text in list(doctree.findall(nodes.Text)):
        if any(isinstance(parent, WITHOUT_LINKS) for parent in parents(text)):
            continue
        parts = [linked(app, docname, labels, part) for part in NUMBER.split(text.astext())]
        if any(isinstance(part, nodes.reference) for part in parts):
            text.parent.replace(text, parts)


def parents(node):
    """Iterate over the ancestors of a node."""
    while node.parent is not None:
        node = node.parent
        yield node


def linked(app, docname, labels, part):
    """Return a reference if `part` is the number of an equation, and its text otherwise."""
    target = labels.get(f"eq-{part[1:-1]}") if NUMBER.fullmatch(part) else None
    if target is None:
        return nodes.Text(part)
    page, label = target[:2]
    address = "" if page == docname else app.builder.get_relative_uri(docname, page)
    return nodes.reference("", part, internal=True, refuri=f"{address}#{label}")


def setup(app):
    """Register the extension."""
    app.connect("doctree-resolved", link_equations)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
