"""Reports of a process about itself: traces, a log file, figures of its store."""
