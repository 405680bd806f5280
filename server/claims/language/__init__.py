"""What the texts of claims say: warnings about their wording, and claims distilled from a text."""
