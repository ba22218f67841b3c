"""ν-classification, its balanced variants, and the equivalent C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.formulations.base import COST_ERROR, Formulation, attainable_total, total_error
from hinge.formulations.c_svc import signed_bounds
from hinge.kernels import Access
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.model import Expansion
from hinge.problems import Array, Dual, Problem

#: Corrections of the costs for classes of different sizes, ν tutorial §8.
BALANCES = (None, "class", "min")


@dataclass(frozen=True)
class NuSVC(Formulation):
    """min ½‖w‖² − νWρ + Σ uᵢ max(0, ρ − yᵢ f(xᵢ)).            docs/math (12); ν tutorial §6–8, LwK (10.3)

    The objective is scaled as in LIBSVM, by m compared with the tutorial: uᵢ = wᵢ (sample weights) and W = Σ wᵢ.
    Balance "class" uses uᵢ = wᵢ W / (2 W±), "min" uses uᵢ = wᵢ W / (2 min(W₊, W₋)). With either, every ν up to 1 is
    admissible.
    """

    y: Array
    weight: Array
    nu: float | Array
    balance: str | None = None

    def __post_init__(self) -> None:
        if np.ndim(self.nu) == 0 and not 0 < self.nu <= self.nu_max * (1 + 1e-12):
            raise ValueError(self._infeasible(self.nu_max))

    def _infeasible(self, nu_max: float) -> str:
        positives, negatives = int(np.sum(self.y > 0)), int(np.sum(self.y < 0))
        return (
            f"specified nu is infeasible: nu={self.nu:g}, but with {positives} samples of one class and {negatives} of "
            f"the other (weights {self._class_weight(1):g} and {self._class_weight(-1):g}) it must lie in "
            f"(0, {nu_max:g}]; choose a smaller nu, or balance='class'"
        )

    def _class_weight(self, label: int) -> float:
        return float(self.weight[self.y == label].sum())

    @property
    def nu_max(self) -> float:
        """Largest admissible ν; ν tutorial Prop. 3."""
        upper = self.upper
        positive, negative = float(upper[self.y > 0].sum()), float(upper[self.y < 0].sum())
        return min(1.0, 2 * min(positive, negative) / float(self.weight.sum()))

    @property
    def upper(self) -> Array:
        """Upper bounds uᵢ."""
        if self.balance is None:
            return self.weight
        total, positive, negative = float(self.weight.sum()), self._class_weight(1), self._class_weight(-1)
        if self.balance == "class":
            return self.weight * np.where(self.y > 0, total / (2 * positive), total / (2 * negative))
        return self.weight * (total / (2 * min(positive, negative)))

    def dual(self) -> Dual:
        """Dual problem in the form (1): min ½αᵀQα,  1₊ᵀα = 1₋ᵀα = νW/2,  0 ≤ α ≤ u.           ν tutorial (88)

        The two equality rows have no variable in common.
        """
        upper, positive = self.upper, self.y > 0
        rounded = 0.0 if self.balance is None else COST_ERROR + len(self.y) * UNIT_ROUNDOFF
        half, error = np.asarray(0.5 * self.nu * float(self.weight.sum())), 0.0
        if half.ndim == 0:
            sides = [attainable_total(float(half), upper[side], rounded) for side in (positive, self.y < 0)]
            smallest = min(total for total, _ in sides)
            half = np.asarray(smallest)
            error = 0.0 if any(largest for _, largest in sides) else total_error(self.nu, self.weight, smallest)
        lower, upper = signed_bounds(self.y, upper)
        total = np.stack([half, -half], axis=-1)
        group = np.where(positive, 0, 1).astype(np.int8)
        return Dual(
            np.zeros(len(self.y)),
            lower,
            upper,
            self.y,
            total,
            group=group,
            row_factors=(1.0, -1.0),
            bounds_error=rounded,
            totals_error=error,
        )

    def build(self, access: Access) -> Problem:
        """Return the kernel form of the dual problem."""
        return self.dual().problem(access)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """μ = (b − ρ, −b − ρ); coefficients and offset are divided by ρ: the margin is 1, as in C-classification.

        ρ ≤ 0 means that ν is below ν_min: then the optimal w is 0, and `recover` does not divide.
        """
        margin, offset = -0.5 * (mu[0] + mu[1]), 0.5 * (mu[0] - mu[1])
        divisor = margin if margin > 0 else 1.0
        return Expansion(self.y * alpha / divisor, float(offset / divisor), margin=float(margin))

    def scale(self, mu: Array) -> float:
        """Return ρ."""
        return float(-0.5 * (mu[0] + mu[1]))

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Return α and μ of a function, multiplied by ρ."""
        margin = expansion.margin
        factor = margin if margin > 0 else 1.0
        offset = expansion.intercept * factor
        return self.y * expansion.coefficients * factor, np.array([offset - margin, -offset - margin])


def equivalent_C(margin: float) -> float:
    """Return the C for which C-classification has the same solution as ν-classification with margin ρ: 1/ρ.

    ν tutorial Prop. 2 (C = 1/(mρ) in its scale, where ρ is m times smaller).
    """
    return 1.0 / margin if margin > 0 else float("inf")
