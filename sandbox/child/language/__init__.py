"""The script language: the policy for syntax and names, and the allow-list of modules."""
