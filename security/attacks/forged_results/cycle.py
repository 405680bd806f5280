# fence: error | walls: error
result = ["BREACHED"]
result.append(result)
