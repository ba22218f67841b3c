"""Online learning: the stochastic kernel methods of LwK 10.6.3, and their prequential evaluation."""

from hinge.online.learner import Learner, OnlineOptions, OnlineState, online_loss, online_loss_names
from hinge.online.prequential import Prequential, prequential

__all__ = ["Learner", "OnlineOptions", "OnlineState", "Prequential", "online_loss", "online_loss_names", "prequential"]
