# fence: error/limit | walls: error/limit
result = ["BREACHED"] + list(range(250_000))
