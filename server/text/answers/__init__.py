"""The kinds of things that questions ask for, and the values of such a kind that a text states."""
