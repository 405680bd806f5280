# fence: rejected | walls: -
from client_sdk import semantic_search
semantic_search.__kwdefaults__["top_k"] = "BREACHED"
print(semantic_search.__kwdefaults__["top_k"])
