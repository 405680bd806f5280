"""Operations of the pack ``core``: compositions of the other operations, and checks of citations."""
