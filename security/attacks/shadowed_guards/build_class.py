# fence: rejected | walls: ok
def __build_class__(*arguments):
    return None
print("BREACHED")
