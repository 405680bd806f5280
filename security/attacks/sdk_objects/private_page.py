# fence: rejected | walls: -
from client_sdk import Results
page = Results({"count": 1})
print("BREACHED" if page._page else "")
