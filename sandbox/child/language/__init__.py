"""The script language: the policy for syntax and names, the allow-list of modules, and the guards of objects."""
