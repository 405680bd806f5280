"""Benchmarks for maintainers: what only a change of winnow itself needs. ``make bench`` lists and runs them."""
