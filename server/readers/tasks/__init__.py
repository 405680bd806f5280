"""The tasks of the children that read files: a module each, with what is loaded for it before the walls stand."""
