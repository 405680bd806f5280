"""How much of an answer is shown: levels of detail, pages, and text counted against a budget."""
