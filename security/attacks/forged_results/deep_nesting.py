# fence: error | walls: error
result = "BREACHED"
for _ in range(200):
    result = [result]
