"""Interactive page of an exact path, for a browser without a server or a network, and the same for notebooks."""

from hinge.plotting.explorer.page import explore, explorer_html, explorer_widget

__all__ = ["explore", "explorer_html", "explorer_widget"]
