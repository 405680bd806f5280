# fence: error | walls: error
result = {"said": "BREACHED"}
result["inner"] = [{"outer": result}]
