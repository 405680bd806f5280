# fence: rejected | walls: -
def outer():
    secret = "BREACHED"
    return lambda: secret
print(outer().__closure__[0].cell_contents)
