"""Language of claims: warnings about their wording, and claims distilled from a text."""
