"""Commands about prompts that operators write."""
