"""The trusted side: queues scripts, runs each in a child, and turns what comes back into an outcome."""
