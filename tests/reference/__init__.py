"""Slow, obviously right: what hinge's answers are compared with.  Nothing here imports hinge."""
