"""Running scripts over the knowledge base: their limits, their calls, and the skills that they may import."""
