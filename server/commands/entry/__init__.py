"""The ways in: the command winnow, the names of import winnow, and what both compose."""
