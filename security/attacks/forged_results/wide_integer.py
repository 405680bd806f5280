# fence: error | walls: error
result = ["BREACHED", 1 << 3_000]
