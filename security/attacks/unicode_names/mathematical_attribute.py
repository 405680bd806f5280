# fence: rejected | walls: -
print("BREACHED" if print.__𝓼𝓮𝓵𝓯__ else "")
