"""Words that carry no topic, question words among them: of English, and of languages that ask in many words.

Questions are full of "which", "does" and "should"; leaving those out is worth two points of nDCG@10 over a
list of articles and prepositions alone (docs/decisions/0003-retrieval.md). Contractions stand as the two
pieces that the tokeniser makes of them: "don't" is "don" and "t".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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

# Articles, pronouns, prepositions, conjunctions, auxiliaries and question words. Other languages do without:
# inverse document frequency weighs their words down as well as it can.
_OTHERS = {
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber denn doch sondern wenn weil dass ob "
    "als wie wo wer was wen wem wessen wann warum wieso weshalb woher wohin wozu womit wodurch welche welcher welches "
    "welchen welchem ich du er sie es wir ihr mich dich sich uns euch mir dir ihm ihn ihnen mein dein sein seine "
    "seinen seiner seinem ihre ihren ihrer ihrem unser man dieser diese dieses diesen diesem jener jede jeder jedes "
    "in im an am auf aus bei beim mit nach von vom zu zum zur um für über unter vor hinter zwischen durch gegen ohne "
    "bis seit während ist sind war waren bin bist wird werden wurde wurden worden hat haben hatte hatten habe kann "
    "können konnte muss müssen soll sollen sollte darf dürfen will wollen würde nicht kein keine keinen nur auch noch "
    "schon sehr so dann da dort hier mehr viel wieder immer etwas alle alles",
    "es": "el la los las lo un una unos unas y e o u pero sino si no ni que qué quien quién quienes quiénes cual cuál "
    "cuales cuáles cuando cuándo donde dónde como cómo cuanto cuánto cuánta cuántos cuántas porque por para con sin "
    "sobre entre hasta desde hacia según de del a al en durante ante bajo tras yo tú él ella ello nosotros ellos "
    "ellas usted ustedes me te se nos le les mi tu su sus mis tus nuestro nuestra este esta esto estos estas ese esa "
    "eso esos esas aquel aquella es son era eran fue fueron ser estar está están estaba ha han había haber hay tiene "
    "tienen puede pueden debe deben hace más menos muy ya también tan así otro otra otros otras todo toda todos todas",
    "fr": "le la les l un une des du de d et ou mais donc or ni car si que qu qui quoi quel quelle quels quelles quand "
    "où comment pourquoi combien lequel laquelle dont je j tu il elle on nous vous ils elles me m te t se s lui leur "
    "leurs mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces ceci cela ça à au aux en dans par "
    "pour sur sous avec sans chez vers entre depuis pendant avant après jusque est sont était étaient être été a ont "
    "avait avoir fait faire peut peuvent doit doivent ne n pas plus moins très aussi bien tout toute tous toutes "
    "autre autres même y",
    "it": "il lo la i gli le l un uno una e ed o ma se non né che chi cui quale quali quando dove come perché quanto "
    "quanta quanti quante cosa cos io tu egli lui lei esso essa noi voi loro mi ti si ci vi ne mio mia tuo suo sua "
    "suoi sue nostro questo questa questi queste quello quella quelli quelle di del dello della dei degli delle a al "
    "allo alla ai agli alle da dal dallo dalla dai dagli dalle in nel nello nella nei negli nelle con su sul sullo "
    "sulla sui sugli sulle per tra fra è sono era erano essere stato ha hanno aveva avere può possono deve devono fa "
    "più meno molto anche già così altro altra altri altre tutto tutta tutti tutte",
    "nl": "de het een en of maar want als dat die dit deze wie wat welke welk waar waarom wanneer hoe hoeveel waarvoor "
    "waarmee ik jij je u hij zij ze wij we jullie hen hun mij me jou hem haar ons mijn jouw zijn uw onze er daar hier "
    "in op aan bij met van voor naar uit over onder door tegen zonder tot sinds tussen na om te is was waren ben bent "
    "wordt worden werd werden heeft hebben had hadden heb kan kunnen kon moet moeten mag mogen zal zullen zou niet "
    "geen ook nog al zeer zo dan meer veel weer altijd alle alles",
    "pt": "o a os as um uma uns umas e ou mas se não nem que quê quem qual quais quando onde como quanto quanta "
    "quantos quantas porque por para com sem sobre entre até desde de do da dos das em no na nos nas ao à aos às "
    "pelo pela pelos pelas eu tu ele ela nós vós eles elas você vocês me te lhe lhes meu minha teu seu sua seus suas "
    "nosso nossa este esta isto estes estas esse essa isso esses essas aquele aquela é são era eram foi foram ser "
    "estar está estão ter tem têm tinha há pode podem deve devem faz mais menos muito já também outro outra outros "
    "outras todo toda todos todas",
    "ru": "и или но а да не ни что чтобы как так если когда где куда откуда почему зачем кто кого кому кем чем чего "
    "чему какой какая какое какие каким какую сколько который которая которое которые я ты он она оно мы вы они меня "
    "тебя его её ее ему ей нас вас их им мне тебе мой твой свой наш ваш этот эта это эти этого этой этом тот та то те "
    "того той том в во на с со к ко у о об от до из за по под над при про для без через между перед после был была "
    "было были есть быть будет можно нужно надо же ли бы вот уже ещё еще только также очень более все всё весь",
}

STOPWORDS_OF: Mapping[str, frozenset[str]] = MappingProxyType(
    {"en": STOPWORDS, **{language: frozenset(words.split()) for language, words in _OTHERS.items()}}
)
