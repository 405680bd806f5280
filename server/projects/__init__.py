"""Projects: the settings of their own, and what happens to a project as a whole."""
