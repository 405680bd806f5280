import operator

OPS = {"+": (1, operator.add), "-": (1, operator.sub), "*": (2, operator.mul), "/": (2, operator.truediv)}


def evaluate(expression):
    output, stack = [], []
    for token in expression.replace("(", " ( ").replace(")", " ) ").split():
        if token in OPS:
            while stack and stack[-1] in OPS and OPS[stack[-1]][0] >= OPS[token][0]:
                output.append(stack.pop())
            stack.append(token)
        elif token == "(":
            stack.append(token)
        elif token == ")":
            while (top := stack.pop()) != "(":
                output.append(top)
        else:
            output.append(float(token))
    output += reversed(stack)
    values = []
    for item in output:
        if isinstance(item, str):
            b, a = values.pop(), values.pop()
            values.append(OPS[item][1](a, b))
        else:
            values.append(item)
    return values[0]


print(evaluate("1 + 2 * 3"), evaluate("( 1 + 2 ) * 3 - 4 / 2"))
