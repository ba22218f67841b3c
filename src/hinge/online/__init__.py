"""Learning from streams: the stochastic kernel learners of LwK 10.6.3, and how to judge them while they learn."""

from hinge.online.learner import Learner, OnlineOptions, OnlineState
from hinge.online.prequential import Prequential, prequential

__all__ = ["Learner", "OnlineOptions", "OnlineState", "Prequential", "prequential"]
