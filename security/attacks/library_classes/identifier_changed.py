# fence: rejected | walls: -
import uuid
before = str(uuid.NAMESPACE_DNS)
uuid.UUID.__init__(uuid.NAMESPACE_DNS, int=5)
print("BREACHED" if str(uuid.NAMESPACE_DNS) != before else "")
