"""English words that carry no topic, question words among them.

Questions are full of "which", "does" and "should"; leaving those out is worth two points of nDCG@10 over a
list of articles and prepositions alone (docs/decisions/0003-retrieval.md). Contractions stand as the two
pieces that the tokeniser makes of them: "don't" is "don" and "t".
"""

from __future__ import annotations

_GROUPS = {
    "articles and determiners": "a an the this that these those each every either neither such same own other "
    "another",
    "quantities": "all any both few many more most much no none not only some several enough just too very",
    "prepositions": "about above across after against along among around at before behind below beneath beside "
    "between beyond by down during except for from in inside into near of off on onto out outside over per since "
    "through throughout to toward towards under until up upon via with within without",
    "conjunctions": "and or but nor so yet if then than because as while although though unless whereas whether",
    "pronouns": "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his "
    "himself she her hers herself it its itself they them their theirs themselves one ones someone something",
    "questions": "what which who whom whose when where why how",
    "auxiliaries": "am is are was were be been being have has had having do does did doing done will would shall "
    "should can could may might must ought need",
    "adverbs": "again also always ever further here there hence once now still thus therefore however",
    "pieces of contractions": "s t d m o y ll re ve don didn doesn isn aren wasn weren hasn haven hadn won wouldn "
    "shouldn couldn mustn needn ain let",
}

STOPWORDS: frozenset[str] = frozenset(word for words in _GROUPS.values() for word in words.split())
