"""The parts of an answer that are shown: levels of detail, pages, and text counted against a budget."""
