"""One module per command, each with a function ``run(arguments) -> int`` that returns the exit code."""
