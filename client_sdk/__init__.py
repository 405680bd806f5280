"""What an agent's script imports. Standard library only."""
