# fence: rejected | walls: -
from client_sdk import Row
Row.__missing__.__globals__["ALIASES"]["secret"] = ("open",)
print(Row(open="BREACHED").secret)
