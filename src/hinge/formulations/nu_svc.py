"""ν-classification, with its balanced variants and the way to and from C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Problem, Quadratic

#: Ways to even out the cost of unequal classes, ν tutorial §8.
BALANCES = (None, "class", "min")


@dataclass(frozen=True)
class NuSVC:
    """min ½‖w‖² − νWρ + Σ uᵢ max(0, ρ − yᵢ f(xᵢ)).            docs/math (12); ν tutorial §6–8, LwK (10.3)

    The scale is LIBSVM's: uᵢ = wᵢ (sample weights) and W = Σ wᵢ, m times the tutorial's.  Balance "class" takes
    uᵢ = wᵢ W / (2 W±) and "min" uᵢ = wᵢ W / (2 min(W₊, W₋)), after which every ν up to 1 is admissible.
    """

    y: Array
    weight: Array
    nu: float
    balance: str | None = None

    def __post_init__(self) -> None:
        highest = self.nu_max
        if not 0 < self.nu <= highest * (1 + 1e-12):
            raise ValueError(self._infeasible(highest))

    def _infeasible(self, highest: float) -> str:
        positives, negatives = int(np.sum(self.y > 0)), int(np.sum(self.y < 0))
        return (
            f"specified nu is infeasible: nu={self.nu:g}, but with {positives} samples of one class and {negatives} of "
            f"the other (weights {self._class_weight(1):g} and {self._class_weight(-1):g}) it must lie in "
            f"(0, {highest:g}]; choose a smaller nu, or balance='class'"
        )

    def _class_weight(self, label: int) -> float:
        return float(self.weight[self.y == label].sum())

    @property
    def nu_max(self) -> float:
        """The largest admissible ν; ν tutorial Prop. 3."""
        upper = self.upper
        positive, negative = float(upper[self.y > 0].sum()), float(upper[self.y < 0].sum())
        return min(1.0, 2 * min(positive, negative) / float(self.weight.sum()))

    @property
    def upper(self) -> Array:
        """The upper bounds uᵢ."""
        if self.balance is None:
            return self.weight
        total, positive, negative = float(self.weight.sum()), self._class_weight(1), self._class_weight(-1)
        if self.balance == "class":
            return self.weight * np.where(self.y > 0, total / (2 * positive), total / (2 * negative))
        return self.weight * (total / (2 * min(positive, negative)))

    def build(self, access: Access) -> Problem:
        """min ½αᵀQα,  1₊ᵀα = 1₋ᵀα = νW/2,  0 ≤ α ≤ u: two rows that share no variable (ν tutorial (88))."""
        n, half = len(self.y), 0.5 * self.nu * float(self.weight.sum())
        upper = self.upper
        rows = np.stack([(self.y > 0).astype(float), (self.y < 0).astype(float)])
        half = min(half, float(rows[0] @ upper), float(rows[1] @ upper))  # ν = ν_max up to rounding
        return Problem(Quadratic(access, self.y), np.zeros(n), rows, np.full(2, half), np.zeros(n), upper)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """μ = (b − ρ, −b − ρ); coefficients and offset divided by ρ, so that the margin is 1 as in C-classification.

        ρ ≤ 0 means that ν is below ν_min: the optimal w is 0 and there is nothing to divide by.
        """
        margin, offset = -0.5 * (mu[0] + mu[1]), 0.5 * (mu[0] - mu[1])
        divisor = margin if margin > 0 else 1.0
        return Expansion(self.y * alpha / divisor, float(offset / divisor), margin=float(margin))

    def unit(self, mu: Array) -> float:
        """ρ: the function is divided by it."""
        return float(-0.5 * (mu[0] + mu[1]))

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Multiplied by ρ again."""
        margin = expansion.margin
        factor = margin if margin > 0 else 1.0
        offset = expansion.intercept * factor
        return self.y * expansion.coefficients * factor, np.array([offset - margin, -offset - margin])


def equivalent_C(margin: float) -> float:
    """The C for which C-classification gives the same function as ν-classification with margin ρ: 1/ρ.

    ν tutorial Prop. 2 (C = 1/(mρ) in its scale, in which ρ is m times smaller).
    """
    return 1.0 / margin if margin > 0 else float("inf")
