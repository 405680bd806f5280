# fence: rejected | walls: -
import ast
tree = ast.parse("print('BREACHED')", mode="eval")
eval(compile(tree, "x", "eval"))
