# fence: error/rejected | walls: -
from client_sdk import Row
text = "{0.citation.get.__globals__[ALIASES]}".format(Row(citation=Row(title="t")))
print("BREACHED" if "section_id" in text else text)
