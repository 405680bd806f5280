"""Models that `winnow model install` installs by name: their table, sources, conversion and loading."""
