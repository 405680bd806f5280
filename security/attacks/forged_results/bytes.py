# fence: error | walls: error
result = b"BREACHED"
