# fence: rejected | walls: -
from client_sdk import Results
property.__init__(Results.ids, lambda self: ["BREACHED"])
print(Results({}).ids)
