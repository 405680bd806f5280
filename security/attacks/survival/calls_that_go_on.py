# fence: limit | walls: limit | limits: sdk_calls=5
import client_sdk
for _ in range(3_000):
    try:
        client_sdk.semantic_search("anything")
    except Exception:
        pass
print("BREACHED")
