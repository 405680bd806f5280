"""The language of scripts: which syntax, names and modules there are, and the guards around objects."""
