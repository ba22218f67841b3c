"""Reference implementations: simple, slow code with which the results of hinge are compared."""
