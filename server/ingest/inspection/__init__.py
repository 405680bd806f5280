"""What a person asks about documents: how a file is read and cut, and which documents came out thin."""
