"""The modules that scripts import: façades of the standard library, and our own versions of parts of it."""
