"""The demonstration: a corpus that every machine has, and one research task done with and without a script."""
