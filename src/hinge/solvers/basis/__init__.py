"""Newton method for models with a reduced basis."""
