# fence: rejected | walls: -
def __build_class__(*arguments):
    return None
print("BREACHED")
