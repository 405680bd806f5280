# fence: rejected | walls: -
match "x":
    case str(ｆormat=walk):
        print("BREACHED" if "built-in" in walk("{}") or walk else "")
