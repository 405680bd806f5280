"""The threat model, the attacks, and the audit that runs them on this host."""
