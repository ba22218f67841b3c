"""Reports about estimators before and after a fit."""
