"""The contracts of the tools of claims: arguments and answers."""
