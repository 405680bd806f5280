# fence: rejected | walls: -
from client_sdk import Results
Results.ids = property(lambda self: ["BREACHED"])
print(Results({}).ids)
