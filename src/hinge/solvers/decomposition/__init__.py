"""Decomposition methods: SMO, working sets and chunking."""
