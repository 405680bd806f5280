# fence: error | walls: error
result = ["BREACHED", float("nan")]
