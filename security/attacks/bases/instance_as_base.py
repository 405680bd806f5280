# fence: rejected | walls: -
class Meta:
    def __init__(self, *arguments):
        if arguments:
            print("BREACHED" if "body" in arguments[2] else "")

class Made(Meta()):
    body = 1
