"""What a solver tells while it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Called now and then with a snapshot (iteration, seconds, violation, primal, dual, gap, ...); False stops the solver.
Monitor = Callable[[dict[str, Any]], bool | None]
