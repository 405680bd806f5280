# fence: limit | walls: limit
result = "BREACHED" + "x" * 1_000_000
