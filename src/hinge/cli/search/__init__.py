"""Grid search of `hinge grid`: values of parameters, parts that are computed one after the other, and their record."""
