"""What a process reports of itself: traces, a log file, figures of its store."""
