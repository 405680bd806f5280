# fence: error/limit | walls: error/limit
result = ["BREACHED"]
for _ in range(18):
    result = [result, result]
