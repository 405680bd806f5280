"""Operations that hand whole documents to scripts."""
