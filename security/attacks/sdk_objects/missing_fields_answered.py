# fence: rejected | walls: -
from client_sdk import Row
Row.__missing__ = lambda self, name: "BREACHED"
print(Row().passage_id)
