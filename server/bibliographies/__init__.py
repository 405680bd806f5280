"""Bibliographies: their entries as records, the files they are read from, and citations written from them."""
