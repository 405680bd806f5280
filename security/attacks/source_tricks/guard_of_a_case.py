# fence: rejected | walls: -
match 1:
    case x if (found := print.__self__):
        print("BREACHED" if found else "")
