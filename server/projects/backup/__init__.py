"""Backups: all primary data of a store in one file. They are written, checked and restored here."""
