"""Tools of the operator: programs and addresses, each described by a ``*.tool.yaml``, run behind the walls."""
