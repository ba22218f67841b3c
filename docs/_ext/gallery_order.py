"""Order of the examples in the gallery: the decision boundary first, then by file name."""

from pathlib import Path

FIRST = "plot_decision_boundary.py"
SECTIONS = ("tutorials", "concepts", "reproduced")


class ExampleOrder:
    """Sort key of the scripts of one folder."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        """Return the key of a file name."""
        return (name != FIRST, name)


def section_order(folder):
    """Return the position of a folder; folders that are not listed follow, sorted by name."""
    name = Path(folder).name
    return (SECTIONS.index(name) if name in SECTIONS else len(SECTIONS), name)
