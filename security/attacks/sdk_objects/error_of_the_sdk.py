# fence: rejected | walls: -
from client_sdk import SDKError
SDKError.__init__ = lambda self, *arguments, **options: print("BREACHED")
SDKError("a", "b")
