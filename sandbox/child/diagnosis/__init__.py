"""Messages for the author of a script: checks before it runs, hints, help and error reports."""
