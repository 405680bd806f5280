"""Operations over notebooks: claims that agents wrote, and how they stand."""
