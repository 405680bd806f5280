# fence: rejected | walls: -
def walk():
    try:
        yield 1
    except ValueError as error:
        yield error.__traceback__.tb_frame.f_back
generator = walk()
next(generator)
print("BREACHED" if generator.throw(ValueError).f_globals else "")
