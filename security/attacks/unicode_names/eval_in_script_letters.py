# fence: rejected | walls: -
print("BREACHED" if 𝘦𝘷𝘢𝘭("1") else "")
