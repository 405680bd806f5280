"""The modules that scripts import: facades of the standard library, and our own replacements of parts of it."""
