# fence: rejected | walls: -
from client_sdk import Row
Row.get = lambda self, name, default=None: "BREACHED"
print(Row().get("title"))
