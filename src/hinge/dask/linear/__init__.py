"""Linear problems on blocks: passes over the samples, Newton's method, and subproblems of samples near a kink."""
