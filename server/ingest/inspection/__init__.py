"""Answers to a person about documents: reading and cutting of a file, and documents that came out thin."""
