"""The compiled core: kernel rows, SMO, prediction.  Everything here works on arrays and knows no labels."""

from hinge._core.native import *  # noqa: F403
