"""Starts of winnow in tests: forks of a process that has imported it, in place of new interpreters."""
