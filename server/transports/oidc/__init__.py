"""Tokens of an external OIDC issuer: its keys, the tokens, what they allow, and where clients get them."""
