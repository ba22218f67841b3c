"""Sphinx extension for the prose of the mathematical pages.

- Equation numbers such as (105) become links. Equations are MyST targets named ``eq-105``. A number that is not such a
  target, as in "ν tutorial (88)", stays text.
- Inline formulas are written in Unicode, which is readable in the source. Subscripts and superscripts such as x_i, K_ii
  and f^{−g} are typeset. They belong to a single letter or a closing bracket. A subscript is one character, a number,
  text in braces, one of `WORDS`, or two characters for the matrices in `TWO_INDICES`.
- Displayed equations with matrices keep their tags: Sphinx wraps an equation that contains a line break in a `split`
  environment, in which MathJax does not accept a tag.
"""

import re

from docutils import nodes

PAGES = ("math/", "decisions/", "notes/")
LINKED_PAGES = (*PAGES, "guide/")
UNCHANGED = (nodes.literal, nodes.literal_block, nodes.reference, nodes.math, nodes.math_block, nodes.title)

NUMBER = re.compile(r"(\(\d{1,3}\))")

ACCENTS = "\u0302\u0303\u0304\u0307\u030c"  # hat, tilde, bar, dot, caron
WORDS = "max|min|aff|old|new|then|target|train|trunc|fixed"
TWO_INDICES = "KQHGA"
LETTER = rf"[A-Za-zℓ\u00c0-\u024f\u1e00-\u1eff][{ACCENTS}′*]*"
OPERATORS = "up|low|hi|lo|soft|sinc|max|min"
OTHER = rf"[\u0370-\u03ff\U0001d400-\U0001d7ff)\]}}‖|][{ACCENTS}′*]*"  # Greek and script letters, closing brackets
BASE = re.compile(rf"(?<![A-Za-z_])(?:(?:{OPERATORS})(?=[_^])|{LETTER})|{OTHER}")
NEXT_BASE = re.compile(LETTER)  # directly after an index: M_iK_ii
SUBSCRIPT = rf"_(\{{[^}}]*\}}|(?:{WORDS})(?![a-z])|[0-9]+|[∞±+]|-(?=[,)/ ])|[A-Za-zα-ω])"
ONE_INDEX = re.compile(SUBSCRIPT)
TWO_INDEX = re.compile(rf"_([A-Za-z]{{2}}(?![a-z]))|{SUBSCRIPT}")
SUPERSCRIPT = re.compile(r"\^(\{[^}]*\}|½|−?[A-Za-z0-9]|\*|⊤)")


def formula_pieces(text):
    """Yield (kind, text) with the kinds "text", "subscript" and "superscript"."""
    start = position = 0
    after_index = False
    while position < len(text):
        base = BASE.match(text, position) or (NEXT_BASE.match(text, position) if after_index else None)
        end = base.end() if base else position + 1
        indices = []
        while base:
            subscript = TWO_INDEX if base[0][0] in TWO_INDICES else ONE_INDEX
            index = subscript.match(text, end) or SUPERSCRIPT.match(text, end)
            if index is None:
                break
            indices.append(("subscript" if index[0][0] == "_" else "superscript", index[index.lastindex].strip("{}")))
            end = index.end()
        if indices:
            yield "text", text[start : base.end()]
            yield from indices
            start = end
        position, after_index = end, bool(indices)
    yield "text", text[start:]


def typeset_formulas(doctree):
    """Replace subscripts and superscripts by nodes."""
    for text in changeable(doctree):
        parts = list(formula_pieces(text.astext()))
        if len(parts) > 1:
            made = [nodes.Text(part) if kind == "text" else getattr(nodes, kind)("", part) for kind, part in parts]
            text.parent.replace(text, made)


def keep_tags(doctree):
    """Delimit the tagged equations here, so that Sphinx does not wrap them."""
    for equation in doctree.findall(nodes.math_block):
        text = equation.astext()
        if r"\tag{" in text:
            equation.children = [nodes.Text(rf"\[{text}\]")]
            equation["no-wrap"] = True


def link_equations(app, doctree, docname):
    """Replace equation numbers by references."""
    labels = app.env.get_domain("std").anonlabels
    for text in changeable(doctree):
        parts = [linked(app, docname, labels, part) for part in NUMBER.split(text.astext())]
        if any(isinstance(part, nodes.reference) for part in parts):
            text.parent.replace(text, parts)


def linked(app, docname, labels, part):
    """Return a reference if `part` is the number of an equation, and its text otherwise."""
    target = labels.get(f"eq-{part[1:-1]}") if NUMBER.fullmatch(part) else None
    if target is None:
        return nodes.Text(part)
    page, label = target[:2]
    address = "" if page == docname else app.builder.get_relative_uri(docname, page)
    return nodes.reference("", part, internal=True, refuri=f"{address}#{label}")


def changeable(doctree):
    """Return the text nodes outside code, formulas, references and titles."""
    return [text for text in doctree.findall(nodes.Text) if not any(isinstance(p, UNCHANGED) for p in ancestors(text))]


def ancestors(node):
    """Iterate over the ancestors of a node."""
    while node.parent is not None:
        node = node.parent
        yield node


def process(app, doctree, docname):
    """Change one resolved page."""
    if docname.startswith(LINKED_PAGES):
        link_equations(app, doctree, docname)
    if docname.startswith(PAGES):
        typeset_formulas(doctree)
        keep_tags(doctree)


def setup(app):
    """Register the extension."""
    app.connect("doctree-resolved", process)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
