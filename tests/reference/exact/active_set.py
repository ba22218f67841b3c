"""Optimum of a `Program`: active-set methods in high precision, whose points are then bounded rigorously."""

from __future__ import annotations

from flint import arb_mat

from .linear_programs import LinearProgram
from .numbers import ONE, ZERO, column, product, total
from .programs import INFINITY

#: Bounds that agree to this relative accuracy, or differ by less than this, are not improved further.
TIGHT, TINY = ONE / 2**100, ONE / 2**250

#: Added to the diagonal of Q, relative to its largest entry, because Q may be singular.
RIDGE = ONE / 2**300

#: Added to the rows of the multipliers if they may depend on each other.
ROW_RIDGE = ONE / 2**280

#: Steps of the method that changes all index sets at once, and of the method that changes one variable at a time.
MAX_NEWTON_STEPS, MAX_SINGLE_STEPS = 15, 300

#: Variables of the starting point within this fraction of their box from a bound start at the bound.
AT_BOUND = ONE / 2**40

#: A free variable that leaves its piece by less than this fraction of its box does so by rounding and does not block.
ROUNDING = ONE / 2**320

LOWER, UPPER, ZERO_KINK, FREE = "lower", "upper", "zero", "free"


def enclose(program, guess=None):
    """Return (lower, upper): bounds on the optimum, equal up to rounding if an active-set method converges."""
    if isinstance(program, LinearProgram):
        return program.enclose(guess)
    search = _Search(program)
    start = program.clipped([v.mid() for v in guess] if guess is not None else [ZERO] * program.size)
    search.newton(start)
    if not search.is_tight():
        search.single_changes(start)
    return search.low, search.high


class _Search:
    def __init__(self, program):
        self.program = program
        self.low, self.high = -INFINITY, INFINITY
        largest = max((float(abs(program.Q[v, v])) for v in range(program.size)), default=1.0)
        self.ridge = RIDGE * (largest or 1.0)
        ends = zip(program.lower, program.upper, strict=True)
        self.unit = [max([ONE, *(abs(end).mid() for end in pair if end is not None)]) for pair in ends]

    def is_tight(self):
        if not (self.low.is_finite() and self.high.is_finite()):
            return False
        return bool(self.high - self.low <= TIGHT * (abs(self.low) + abs(self.high)) + TINY)

    def record(self, x, mu):
        low, high = self.program.lower_bound(x), self.program.upper_bound(x, mu)
        self.low = low if low > self.low else self.low
        self.high = high if high < self.high else self.high

    # ---- index sets ----------------------------------------------------------------------------------------------

    def pieces(self, v, sign):
        """Return the ends of the smooth piece of variable v on one side of its kink (both sides without a kink)."""
        low, high = self.program.lower[v], self.program.upper[v]
        if self.program.tube[v].is_zero():
            return low, high
        return (ZERO, high) if sign > 0 else (low, ZERO)

    def place(self, x):
        """Return the index set of every variable of a point."""
        program, places = self.program, []
        largest = max((abs(value).mid() for value in x), default=ONE)
        for v in range(program.size):
            low, high = program.lower[v], program.upper[v]
            width = (high - low).min(largest) if low is not None and high is not None else largest
            if low is not None and x[v] <= low + AT_BOUND * width:
                places.append((LOWER, 0))
            elif high is not None and x[v] >= high - AT_BOUND * width:
                places.append((UPPER, 0))
            elif not program.tube[v].is_zero() and abs(x[v]) <= AT_BOUND * width:
                places.append((ZERO_KINK, 0))
            else:
                places.append((FREE, 1 if x[v] > 0 else -1))
        return places

    def fixed_value(self, v, kind):
        program = self.program
        return program.lower[v] if kind == LOWER else program.upper[v] if kind == UPPER else ZERO

    def solve(self, places):
        """Return (x, μ) that minimize the objective on the face; variables may leave their pieces."""
        program = self.program
        free = [v for v in range(program.size) if places[v][0] == FREE]
        x = [ZERO if kind == FREE else self.fixed_value(v, kind) for v, (kind, _) in enumerate(places)]
        rows = [k for k, row in enumerate(program.A) if any(row[v] for v in free)]
        fixed = product(program.Q, x)
        m, size = len(free), len(free) + len(rows)
        system = arb_mat(size, size)
        right = []
        for i, v in enumerate(free):
            for j, w in enumerate(free):
                system[i, j] = program.Q[v, w].mid()
            system[i, i] = (program.Q[v, v] + program.ridge[v] + self.ridge).mid()
            for k, r in enumerate(rows):
                if program.A[r][v]:
                    system[i, m + k] = system[m + k, i] = program.A[r][v]
            right.append((-(fixed[v] + program.p[v] + places[v][1] * program.tube[v])).mid())
        for k, r in enumerate(rows):
            inside = total(program.A[r][v] * x[v] for v in range(program.size) if program.A[r][v])
            right.append((program.d[r] - inside).mid())
            if program.shared_rows:  # rows may depend on each other: undetermined multipliers keep their prior value
                system[m + k, m + k] = -ROW_RIDGE
                right[-1] = (right[-1] - ROW_RIDGE * program.prior[r]).mid()
        mu = [ZERO] * len(program.A)
        if size:
            found = system.solve(column(right), algorithm="approx").entries()
            for i, v in enumerate(free):
                x[v] = found[i].mid()
            for k, r in enumerate(rows):
                mu[r] = found[m + k].mid()
        idle = [k for k, row in enumerate(program.A) if not any(row[v] for v in free)]
        if idle and program.shared_rows:
            program.middle_multipliers(self.slopes(x, mu), places, mu, idle)
        elif idle:
            self.best_multipliers(x, mu, idle)
        return x, mu

    def best_multipliers(self, x, mu, rows):
        """Set the multipliers of rows without free variables to those with the smallest upper bound."""
        program = self.program
        f = product(program.Q, x)
        for r in rows:
            members = [v for v in range(program.size) if program.A[r][v]]
            candidates = [ZERO]
            for v in members:
                at = -(f[v] + program.p[v] + program.ridge[v] * x[v]).mid()
                for t in (program.tube[v], -program.tube[v]):
                    candidates.append((at + t).mid() * program.A[r][v])
            best = INFINITY
            for candidate in candidates:
                value = candidate * program.d[r]
                for v in members:
                    value += program._loss(v, -(f[v] + program.p[v] + program.A[r][v] * candidate))
                if value.is_finite() and not value >= best:
                    best, mu[r] = value, candidate

    def slopes(self, x, mu):
        """Return the derivative of the objective without the tubes."""
        program = self.program
        f, offset = product(program.Q, x), program.row_values(mu)
        return [f[v] + offset[v] + program.p[v] + program.ridge[v] * x[v] for v in range(program.size)]

    def release(self, v, kind, slope):
        """Return (violation, new index set) of a fixed variable; the violation is not positive if it is optimal."""
        tube = self.program.tube[v]
        low, high = self.program.lower[v], self.program.upper[v]
        if low is not None and high is not None and (high - low).is_zero():
            return ZERO, (kind, 0)
        if kind == LOWER:
            sign = 1 if not low < 0 or tube.is_zero() else -1
            return -(slope + sign * tube), (FREE, sign)
        if kind == UPPER:
            sign = -1 if not high > 0 or tube.is_zero() else 1
            return slope + sign * tube, (FREE, sign)
        return (slope - tube, (FREE, -1)) if slope > 0 else (-slope - tube, (FREE, 1))

    def end(self, v, sign, at_low):
        """Return the index set of a variable at an end of its piece."""
        if self.program.tube[v].is_zero():
            return (LOWER, 0) if at_low else (UPPER, 0)
        low, high = self.program.lower[v], self.program.upper[v]
        if at_low:
            return (LOWER, 0) if sign < 0 or (low is not None and low.is_zero()) else (ZERO_KINK, 0)
        return (UPPER, 0) if sign > 0 or (high is not None and high.is_zero()) else (ZERO_KINK, 0)

    # ---- all index sets at once ----------------------------------------------------------------------------------

    def newton(self, start):
        """Change all index sets that violate the optimality conditions, until none does or one repeats."""
        places, seen = self.place(start), set()
        for _ in range(MAX_NEWTON_STEPS):
            if tuple(places) in seen:
                return
            seen.add(tuple(places))
            try:
                x, mu = self.solve(places)
            except ZeroDivisionError:
                return
            self.record(x, mu)
            if self.is_tight():
                return
            slopes, following = self.slopes(x, mu), list(places)
            for v, (kind, sign) in enumerate(places):
                if kind == FREE:
                    low, high = self.pieces(v, sign)
                    if low is not None and x[v] < low:
                        following[v] = self.end(v, sign, True)
                    elif high is not None and x[v] > high:
                        following[v] = self.end(v, sign, False)
                else:
                    violation, new = self.release(v, kind, slopes[v])
                    if violation > 0:
                        following[v] = new
            if following == places:
                return
            places = following

    # ---- one variable at a time ----------------------------------------------------------------------------------

    def single_changes(self, start):
        """Primal active-set method from a feasible point: the objective never rises, so that no face repeats."""
        x = self.program.feasible(start) or self.program.feasible([ZERO] * self.program.size)
        if x is None:
            return
        x = [value.mid() for value in x]
        places = self.place(x)
        for _ in range(MAX_SINGLE_STEPS):
            try:
                target, mu = self.solve(places)
            except ZeroDivisionError:
                return
            step, blocking = ONE, None
            for v, (kind, sign) in enumerate(places):
                if kind != FREE:
                    continue
                low, high = self.pieces(v, sign)
                move = target[v] - x[v]
                for bound, at_low in ((low, True), (high, False)):
                    if bound is None:
                        continue
                    outside = bound - target[v] if at_low else target[v] - bound
                    if outside > ROUNDING * self.unit[v]:
                        fraction = (((bound - x[v]) / move).mid()).max(ZERO)
                        if fraction < step:
                            step, blocking = fraction, (v, self.end(v, sign, at_low))
            x = [(a + step * (b - a)).mid() for a, b in zip(x, target, strict=True)]
            if blocking is not None:
                v, places[v] = blocking[0], blocking[1]
                x[v] = self.fixed_value(v, places[v][0])
                continue
            self.record(x, mu)
            if self.is_tight():
                return
            slopes, worst, change = self.slopes(x, mu), ZERO, None
            for v, (kind, _) in enumerate(places):
                if kind != FREE:
                    violation, new = self.release(v, kind, slopes[v])
                    if violation > worst:
                        worst, change = violation, (v, new)
            if change is None:
                return
            places[change[0]] = change[1]

