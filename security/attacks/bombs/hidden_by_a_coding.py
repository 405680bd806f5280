# fence: rejected | walls: error | source: computed
"# coding: utf-7\n+AHAAcgBpAG4AdAAoACIAQgBSAEUAQQBDAEgARQBEACIAKQ-\n"
