"""``winnow claims``: the notebooks of a store, for the people who own it."""
