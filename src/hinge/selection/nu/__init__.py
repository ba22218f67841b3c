"""The parameter ν: admissible interval, search, choice for a noise model, and bounds on the leave-one-out error."""
