"""The storage that other rooms rely on: protocols of stores and models, private files, SQLite, access keys."""
