# fence: rejected | walls: -
import code
code.InteractiveInterpreter().runsource("print('BREACHED')")
