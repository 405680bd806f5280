"""``winnow project``: one file per group of its subcommands."""
