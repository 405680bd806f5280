# fence: rejected | walls: -
import client_sdk.transport
client_sdk.transport.connect(lambda *call: {"ok": {"results": [{"id": "BREACHED"}]}})
print(client_sdk.kb.search("x")[0].id)
