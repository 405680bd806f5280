"""The children that read files: started behind walls, kept in a pool, their answers checked."""
