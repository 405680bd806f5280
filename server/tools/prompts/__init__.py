"""Prompts in versions: read from packs, filled in with arguments."""
