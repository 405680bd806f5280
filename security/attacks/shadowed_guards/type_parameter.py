# fence: rejected | walls: -
def shadow(super=print, attribute=print, target=print):
    super("BREACHED")
shadow()
