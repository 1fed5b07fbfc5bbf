"""Ordinary English words, from which a name has to stand out, listed by topic and compared by Snowball stem."""

from __future__ import annotations

from functools import lru_cache

from recall_integrations.patterns import regex
from recall_integrations.query.folding import word_set
from recall_integrations.text import STOP_WORDS, stem
from recall_integrations.text.analyser import stemmed

_ORDINARY = """
now able hey oh lol wow gonna wanna kinda go accord etc vs done going accept access account achieve act add address
admit adopt adult advance advice advise affect afford afraid afternoon age agenda agent ago agree ahead aim air alarm
album alert align alive allergic allergy allow almost alone along already alright although always amazing among amount
analyse analysis analyze ancient anger angle angry animal announce annoy annual another answer anxious anybody anymore
anyone anything anytime anyway anywhere apart apartment apologize apparently appeal appear apple apply appoint
appointment appreciate approach approve argue arm around arrange arrive article artist aside ask asleep aspect assign
assist assume attach attack attempt attend attention attitude attract audience audio aunt author auto available average
avoid award aware away awesome awful baby back background backend backlog backup bad badge bag bake balance ball bare
barely bark base baseball basement basic basket basketball bath bathroom battery battle beach bear beard beat beautiful
become bed bedroom beef beer begin behave behavior behind believe bell belong belt bench benefit beside best bet better
beyond bicycle big bike billion bird birth birthday bit bite bitter black blame blank blanket blind block blog blood
bloom blow blue boat body boil bold bomb bone book boot border bored boring born borrow boss bother bottle bottom bowl
box boy boyfriend brain branch brand brave bread break breakfast breath breathe brief bright bring broad broken brother
brown browse brush bucket budget bug build bulk bunch burn bus busy butter button buy cabin cable cache cake calendar
call calm camera camp cancel cancer candidate candle candy cap capital car card care career careful carpet carrot carry
cart case cash cast cat catch category cause ceiling celebrate cell central century certain chain chair challenge change
chapter character charge chart chat cheap cheat check cheese chef chest chicken chief child childhood children chip
chocolate choice choose cinema circle citizen claim classic classroom clean clear clearly click client climate climb
clock close closet cloth clothes cloud cluster coach coast coat code cold collapse collect color colour column combine
come comfort comfortable command comment commit common communicate compare compete competition complain complete complex
computer concept concern concert condition confident config configure confirm conflict confuse congratulate connect
consider consist constant construct consult contact contain container content contest context continue contract control
convenient conversation convert convince cook cookie cool copy core corner correct cost cotton couch count couple
courage cousin cover cow crack craft crash crazy cream create creative credit crew crime crisis criteria critic crop
cross crowd cry culture cup cure curious current currently custom customer cut cute cycle dad daily damage dance danger
dangerous dark dashboard data date daughter day dead deadline deal dear death debate debt debug decade decide decision
deck decline deep deer default defeat defend define definitely degree delay delete deliver demand demo dentist deny
depend deploy deposit depress depth describe desert deserve design desk desktop dessert destroy detail detect develop
device diet differ different difficult dig digital dinner direct direction dirty disagree disappear disappoint discover
discuss disease dish disk display distance divide divorce doctor document dog dollar domain door dot double doubt
download draft drag drama draw drawer dream dress drink drive driver drop dry duck due dump dust duty early earn earth
ease easily east easy eat economy edge edit editor educate effect effective efficient effort egg either elder elect
electric element elephant else elsewhere email embarrass emergency emotion employ employee empty enable encourage end
endpoint enemy energy engage engineer enjoy enormous enough ensure enter entire entry environment equal equipment error
escape especially essay essential establish estimate even evening eventually everybody everyday everyone everything
everywhere evidence exact exactly exam example excellent except exchange excite excuse exercise exist exit expect
expense expensive experience expert explain explore export express extend extra extreme eye face fact factor fail
failure fair fairly fall false familiar family famous fan fancy far farm farmer fashion fast fat father fault favor
favorite favour favourite fear feature fee feed feedback feel feet fellow female fence fetch fever field fight figure
file fill film filter final finally finance find fine finger finish fire first fish fit fix flag flat flavor flight
float floor flour flow flower fly focus fold folder follow food fool foot football forecast foreign forest forget
forgive fork form formal format former forum forward found fox frame framework free freedom freeze frequent fresh fridge
friend friendly friendship frontend fruit frustrate fuel full fun function funny furniture future gain gallery gap
garage gas gate gather general generate gentle ghost giant gift girl girlfriend give glad glass global glove goal goat
god gold golf gone good goodbye grab grade gradually graduate grammar grand grandfather grandma grandmother grandpa
grass grateful great green greet grey grill grocery ground grow growth guarantee guard guess guest guide guilty guitar
gun gym habit hair half hall hand handle hang happen happy hard hardly harm hat hate head headache health healthy hear
heart heat heavy height hello help hero hesitate hi hidden hide high highlight highway hike hill hint hire history hit
hobby hold hole holiday home homework honest honey hook hop horrible horse host hot hour household however hug huge
human humor hungry hunt hurry hurt husband ice idea ideal identify ignore ill image imagine immediate impact implement
import important impossible impress improve incident include income increase incredible indeed index indicate individual
industry influence inform info ingredient injury innovate input inside insist install instance instead instruction
instrument insurance integrate intelligent intend interact interest interface internal international internet interview
introduce invent invest investigate invitation invite invoice involve iron issue item jacket jail jam jar jazz jeans job
jog join joke journal journey judge juice jump junior justice keep key keyboard kick kid kidney kill kind kiss kitchen
knee knife knock know knowledge label lack lady lamp land landscape language lap laptop large last late lately later
latest laugh launch laundry law lawn lawyer lay layer layout lazy lead leader leaf lean learn least leather leave
lecture left leg legal lemon lend length lesson letter level license lie life lift light like likely limit line link
lion lip liquid list listen literally little live liver load loan local location lock log logic login logo lonely long
look loose lose loss lost lot loud lovely low loyal luck lunch magazine magic mail main maintain make male mall man
manage manager mango manner manual many map marathon margin marketing marriage marry mask mass massive match mate
material math matter mattress maximum maybe meal mean meaning measure meat mechanic media medical medicine medium meet
meeting member memory men mental mention menu merge mess message metal meter method metric middle midnight migrate mild
mile milk million mind mine minimum minor minute mirror miss mistake mix mobile mode modern module mom moment monday
money monitor monkey month mood moon morning mortgage mostly mother motion motivate motor mouse mouth move movie much
mud multiple mum muscle mushroom music musician must mystery name narrow nation national native natural nature near
nearly necessary neck need needle negative neighbor neighbour neighborhood neither nephew nerve nervous nest never new
news newspaper next nice niece night nobody noise none noodle noon normal north nose note notebook nothing notice
notification notify novel nowadays nowhere number nurse nut object observe obtain obvious odd offer officer official
often oil okay ok old olive onboard onion online onto open operate opinion opportunity oppose option orange order
ordinary organise organize origin original otherwise outage outcome outdoor outline output outside oven overall owe
owner pace pack package pain paint pair palace pan panel panic pants paper parent parse part participate particular
partly partner pass passenger passion password past pasta paste patch path patient pattern pause pay payment peace peak
pen pencil people pepper per percent perfect perform performance perhaps period permission permit person personal pet
phase phone photo photograph phrase physical piano pick picnic picture pie piece pig pill pilot pin pink pipe pipeline
pizza place plain plane planet plastic plate play player playlist please pleasure plenty plot plug plus pocket podcast
poem poet point poison police policy polite pool poor pop popular population position positive possible post pot potato
potential pottery pound pour power powerful practical practice pray prefer preference pregnant prepare present president
press pressure pretend pretty prevent previous price pride primary print priority prison private prize probably problem
process produce profession professor profile profit progress promise promote prompt proof proper property propose
protect proud prove provide public publish pull pump punish pupil purchase pure purple purpose push put puzzle quality
quarter query queen question queue quick quickly quiet quit quite quiz quote rabbit race radio raise random range rank
rare rarely rate rather reach react read ready real realise realize really reason receipt receive recent recently recipe
recognize recommend record recover red reduce refactor refer reference reflect refresh refuse regard region register
regret regular reject relate relation relationship relax relevant relief religion rely remain remember remind remote
remove rent repair repeat replace reply repo report repository represent request require rescue research reserve
resource respect respond response rest restore result resume retire retrieve retro return reveal revise reward rice ride
right ring rise risk roadmap rock role roll roof root rope rough round route routine row royal rule run runner rush sad
safe sail salad salary sale salmon salt sample sand sandwich satisfy sauce sausage save say scale scan scare scene
schedule scheme science scientist scope score scratch scream screen script sea search season seat second secret
secretary section secure security see seed seek seem seldom select self sell send senior sense sentence separate series
serious serve session set setting settle setup several severe shadow shake shape share sharp sheep sheet shelf shell
shelter shift shine ship shirt shock shoe shoot shopping short shot shoulder shout show shower shut shy sick side sign
signal silence silent silly silver similar simple simply since sing singer single sink sister sit site situation size
skate ski skill skin skip skirt sky sleep slice slide slight slow small smart smell smile smoke smooth snack snake snow
soap soccer social sock sofa soft soil soldier solid solution solve somebody somehow someone something sometimes
somewhat somewhere son song soon sorry sort soul sound soup source south space spare speak special specific speech speed
spell spend spicy spider spirit split spoon sport spot spread spreadsheet spring sprint stable staff stage stair stamp
stand standard standup star start startup statement status stay steady steak steal steam steel step stick still stock
stomach stone stop storage storm story straight strange stranger strategy stream strength stress stretch strict strike
string strong structure struggle student study stuff stupid style subject submit subscribe succeed success sudden
suddenly suffer sugar suggest suit summarize summary sun sunday sunset super supper supply support suppose sure surface
surgery surprise survey survive suspect swap sweater sweet swim switch symptom sync table tablet tag tail take tale
talent talk tall tap tape target task taste tax taxi tea teach teacher tear tech technical teen telephone television
tell temperature template temple tend tennis tent term terrible test text thank theme theory therapist therapy therefore
thick thin thing think third thought threat three throat throughout throw thumb thunder ticket tidy tie tiger tight till
timber time timeline tiny tip tired title toast today toe together toilet token tomato tomorrow tone tongue tonight
tooth top topic total touch tough tour tourist toward towards towel toy track trade tradition traffic train transfer
transform translate transport trap trash travel treat treatment tree trend trial trick trigger trip trouble truck true
truth try tune turn twice type typical ugly ultimate umbrella uncle understand unfortunately uniform unique unit unless
unlike update upgrade upload upset upstairs urgent usage use useful user usual usually vacation valuable value van
variety various vast vegetable vehicle vendor version via video view violence virtual virus visa visit visitor
vocabulary voice volume volunteer vote wage wait wake walk wall wallet wander want war warehouse warm warn wash waste
watch water wave way weak wealth weapon wear weather web website wedding weed week weekend weekly weigh weight welcome
well wet whale whatever wheat wheel whenever wherever whether whisper white whoever whole wide widow wife wild win wind
window wine wing winner wire wish within without witness wolf woman women wonder wonderful wood wooden word work worker
workflow workout workshop world worry worse worst worth wound wrap write writer wrong yard yeah year yellow yesterday
yet yoga young youth zero zone zoo tuesday wednesday thursday friday saturday january february march april july august
september october november december one two four five six seven eight nine ten eleven twelve twenty thirty forty fifty
hundred thousand said told went came gave took made knew bought brought taught caught kept met paid sold sent spent
built felt held heard led meant ran sat saw slept spoke stood swam threw understood wore won wrote broke chose drove ate
fell flew forgot froze grew hid rode rang sang sank shook stole swore tore woke began became drank dealt dug abandon
ability abortion abroad absence absolute absorb abstract abuse academic accent accident accompany accomplish accurate
accuse acid acknowledge acquire acre active activity actor actress actual adapt addict addition adequate adjust
administration admire adolescent adventure adverse advertise aesthetic agriculture aggressive aid alien allocate alter
alternative altitude ambition ambulance amend ancestor ankle anniversary anonymous antenna anticipate antique anxiety
apparent appetite aquarium arena arrest arrow artificial asset assault astronomy athlete atmosphere atom aspirin
authentic authority automatic avenue await awake awkward axis bachelor ballet balloon ballot banana bandage banner
bargain barn barrel barrier bead beam bean beast bedtime beg bias bid bind biology biography blade blend bless blink
blonde blossom blouse boast bond bonus boom boost bounce bound boundary bracelet breed breeze brick bride bronze broth
brunch bubble bull bullet bump burden burger bury bush butterfly calculate calorie canal canvas capable capacity captain
capture carbon cargo carpenter carve castle casual caution cave cease celebrity cement ceremony certificate chaos chapel
charm charter chew chill chin choir chord chronic chunk cigarette circuit circumstance civil civilian clarify clash
clause clerk clever clip clue clumsy coal coalition coconut cognitive collaborate collar colleague colony comedy comic
commerce commission commodity companion compensate competent compile complement compliment compose composer compound
comprehensive compromise conceive concentrate conclude concrete conduct confess congress conscience conscious
consequence conserve considerable consistent conspiracy constitution consume contemporary continental contrast
contribute convention cooperate coordinate cope copper cord corn corporate corridor cosmetic costume cottage cough
counsel counter courtesy crawl creature crown crucial cruel cruise crush cube cuisine cult cupboard curb curl curriculum
currency curtain curve cushion dairy damn dare darling dealer debris debut decay decent declare decorate dedicate deem
deficit definite delicate delicious delight democracy dense dental departure dependent deputy derive desperate
destination detective determine devil devote diabetes diagram dialogue diamond diary dictionary dignity dilemma
dimension diploma diplomat disaster discipline discount discourse discrimination dismiss disorder dispute distant
distinct distinguish distract distribute disturb diverse dive divine dizzy dock doctrine dolphin dominate donate donkey
dose dough dove drain dramatic drift drill drought drown drug drum dual dull durable duration dynamic eager eagle ear
echo eclipse ecology edition elbow elegant eliminate elite embark embrace emerge emission emphasis empire enact
encounter endless endure enforce enhance enterprise entertain enthusiasm entitle entrepreneur envelope episode equality
equation equator equip equivalent era essence ethic ethnic evaluate evil evolve examine exceed excerpt exclude exclusive
execute exhaust exhibit exile exotic expand expansion expedition expire explicit explode exploit expose extent external
eyebrow fabric facility fade faint fairy fake fame fantastic fantasy fare fascinate fatal fate fatigue federal ferry
fertile fiber fiction fierce firefighter fireplace fishing fitness flame flash flee fleet flesh flexible flip flood
fluid foam fog foil folk forehead formation formula fort fortune fossil foul fountain fraction fragile fragment
franchise fraud frequency freight frost frown fry fulfill fundamental funeral fur fury galaxy gang gaze gear gender
genetic genius genre genuine gesture giggle glance glimpse globe gloom glow glue gorgeous gossip govern governor grain
graph grasp gravity greed grief grip gross guitarist gut habitat hammer handful handsome harbor harbour hardware harsh
hatch haul hazard heal healing heaven heel heir helicopter helmet herb heritage hesitant hip hollow holy horizon hormone
horn horror hostile hurricane hut hybrid hydrogen hypothesis identical identity ideology idle idol illegal illness
illusion illustrate imitate immense immigrant immune impair imply impose impulse incentive inch incline incorporate
indigenous induce infant infect inflation inhabit inherent inherit initial inject injure inner innocent inquiry insect
insert insight inspect inspire instinct institution insult intact integrity intellectual intense intention interior
intermediate interpret interrupt interval intervene intimate invade inventory irony isolate jaw jealous jet jewelry
joint jungle jurisdiction jury kingdom kitten knit knot labor labour ladder lane laser latter lava lawsuit leap legacy
legend legislation legitimate leisure lens let liberal liberty lifestyle likewise limb linear linen linger literary
literature litter lizard lobby lodge luggage lunar lung luxury lyric magnet magnificent majority mandate manipulate
mansion manuscript marble marine mariner martial mature maze mayor meadow mechanism medal meditate melt membership
memorial mercy mere merit metaphor midst military mill mineral minimal minister minority miracle miserable missile
moderate modest modify molecule momentum monarch monster monument moral mortal mosque mosquito motive mount municipal
murder mutual myth naked nasty navy negotiate neutral nightmare noble nominate nonetheless notable notion notorious
novelist nuclear nuisance numerous nutrition oak oath obey obligation obscure obsess obstacle occasion occupy occur
offend olympic ongoing opera oppress optimistic oral orbit orchestra organ orientation orphan outfit outrage overcome
overlook overseas overwhelm oxygen paddle panda panther parade paradise parallel parliament passage passive passport
pastor pasture pat patent patrol patron pave paw peach peanut peculiar peer penalty pension perceive permanent persist
perspective persuade petition phenomenon philosophy physics pigeon pillow pine pioneer pirate pitch pity plague plaster
plead plunge poetry pole politic politician poll pollute pond portion portrait pose possess postpone posture poverty
powder prayer preach precede precious precise predict preliminary premier premise premium prescribe prestige presume
prevail prey priest prime primitive princess principal principle prior privilege probe procedure proceed proclaim
profound prohibit prominent prone propaganda proportion prosecute prospect prosper protein protest protocol province
provoke psychology pulse pumpkin puppy pursue pyramid qualify quantity quest racism rack radar radical rage raid rail
railway rally ranch rapid ratio rational raw realm rear rebel rebuild recall receiver recession reckon recovery recruit
recycle referee reform refuge regime regional rehearse reign reinforce relative reluctant remark remedy renew renovate
reptile republic reputation resemble resent reside resign resist resort restrict retail retreat revenge revenue reverse
revolution rhythm rib ribbon rid ridge ridiculous rifle rigid riot ritual rival roast robot rocket romance romantic
rotate rubber rubbish rug ruin rumor rural sack sacred sacrifice sailor saint sake sanctuary satellite saturate savage
scandal scar scarf scatter scenario scent scholar scholarship scissors scold scrap screw sculpture seal seam seaside
seize senate senator sensation sensible sensitive sequence servant settlement sexual shallow shame shark shave shed
shield shiver shore shortage shovel shrimp shrink sibling siege sigh signature significant silk simulate sin sincere
skeleton skeptical sketch skull slam slap slave slim slip slope slot sneak snap soak soar sober socket sole solar solo
soothe sophisticated sore sovereign soy spark specialist species specimen spectacular spectrum speculate sphere spin
spine spite splash splendid sponsor spouse spray squash squeeze squirrel stab stack stadium stain stake stall statue
stereotype stem stimulate sting stir stitch stool straw stroke stroll stubborn stunning substance substitute subtle
suburb successor sue suffice suicide suite sum superior supervise supplement suppress supreme surf surgeon surplus
surround suspend suspicion sustain swallow sway sweat sweep swell swift swing sword syllabus symbol sympathy symphony
syndrome synthesis syrup tackle tactic tan tank tariff teenage telescope temporary tempt tenant tender tense terminal
terrain territory terror testify texture theft theology thermal thesis thief thigh thirst thorough thread thrill thrive
tide tile tin tissue tobacco tolerate toll tomb torch tornado torture toss tournament toxic trace tragedy tragic trait
transaction transit transition transmit transparent trauma treasure treaty tremendous tribute trilogy triumph troop
trophy tropical trunk tube tumor tunnel turbine turkey turtle tutor twin twist undergo undertake unemployment unfold
unify universal universe unusual urban urge utility utilize utter vaccine vacuum vague vain valid vampire vanish vegan
vegetarian vein velvet venture venue verb verdict verse vertical vessel veteran viable vibrant vice victim victory vine
vinegar violate violent violin virtue visible vision vital vitamin vivid volcano voyage vulnerable waist ward warrior
waterfall weird wheelchair whip width willing wipe wisdom witch wizard workplace worship worthy wrist youthful across
alongside amid anyhow beneath besides despite every furthermore hence mid moreover nevertheless though thus underneath
whereas whichever eleventh fourth fifth sixth seventh eighth ninth tenth dozen arisen awoken beaten bent bitten blown
bred broadcast burst chosen clung crept drawn driven eaten fallen fled flown flung forbidden forgave forgiven forgotten
frozen given gotten grown hung knelt known laid lain leant leapt learnt lent lit mistaken proven ridden risen rung sawn
seen sewn shaken shone shown shrunk slid slung spun spilt spoilt sprung stolen stuck stung struck sung sunk swept
swollen swum swung taken thrown torn trodden undone woken worn woven written african american arabic asian australian
british canadian chinese dutch english european french german greek indian irish italian japanese jewish korean latin
mexican roman russian scottish spanish swedish swiss turkish christian catholic muslim buddhist hindu api sdk url ui ux
ai ml llm pr qa hr id tv pc ceo cto cfo faq sql http https json xml yaml csv pdf html css ide cpu gpu ram vpn dns ssh
ssl aws db os io ios latency throughput schema timeout retry rollback postmortem onboarding oauth auth
"""

# Words that say what kind of thing a name is about. They carry no identity of their own, and their presence in a
# name says that it is not a person's.
KIND_WORDS = word_set(
    """
    agency airline airport app application area army association bakery band bank bar board bridge bureau business cafe
    campaign campus center centre channel church city class clinic club co coffee college committee community company
    conference corp corporation council country course court database department district division documentation engine
    event factory fest festival firm force foundation fund game garden group guild handbook hospital hotel house inc
    initiative institute island lab laboratory labs lake league library limited llc ltd machine market meetup migration
    ministry mission model mountain museum network office operation organisation organization park party plan plant
    platform port product program programme project release restaurant review river road room school server service
    services shop society software squad square state station store street studio studios summit system systems team
    technologies technology theater theatre tool tower town trail tribe trust union university valley village
    """
)

NAME_PARTICLES = word_set("al ap bin bint da das de del della den der di dos du el ibn la le san st ten ter van von")

# Upper case is how these are always written: it says nothing about whether a name is meant.
ACRONYMS = word_set(
    """
    api sdk url ui ux ai ml llm pr qa hr id it us tv pc ceo cto cfo faq sql http https json xml yaml csv pdf html css
    ide cpu gpu ram vpn dns ssh ssl aws db os io ios oauth ok eta asap fyi rsvp diy pm am
    """
)

CALENDAR_WORDS = word_set(
    """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday spring summer autumn winter jan feb mar apr jun jul aug sep sept oct nov dec
    """
)

# Ordinary words that people are also called.
GIVEN_WORDS = word_set(
    """
    angel archer art ash autumn basil bay bill bishop blaze brook buck bunny butcher chance charity chase cherry
    clay cliff coral crystal dale dash dawn destiny drew duke earl ember fern finch fisher frank gale ginger glory
    grace grant gray guy harmony harvest haven hope hunter ivory joy joyous june jewel jolly knight lance lark
    laurel lotus love lucky major mark marsh merry miles misty norm nova ocean opal page patience pearl petal pierce
    porter prince rain rich rocky rod rose rowan rusty sage sandy scout serenity shepherd sparrow stormy summer
    sunny sunshine trinity weaver west will willow winter wren may will
    """
)

ORDINARY_WORDS = word_set(_ORDINARY) | STOP_WORDS | KIND_WORDS | GIVEN_WORDS  # as listed, without their inflections
_STEMS = frozenset(stemmed(ORDINARY_WORDS))
_STEM_CHARS_MIN = 3
_INFLECTED_CHARS_MIN = 5  # shorter words that merely share a stem are names: "Anna" is no inflection of "an"


@lru_cache(maxsize=8_192)
def is_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, an inflection of one, a lone letter or a number."""
    if word in ORDINARY_WORDS or len(word) < 2 or not any(c.isalpha() for c in word):
        return True
    if not word.isascii():
        return False
    if len(word) < _INFLECTED_CHARS_MIN:
        return len(word) > _STEM_CHARS_MIN and word.endswith("s") and word[:-1] in ORDINARY_WORDS
    root = stem(word)
    return len(root) >= _STEM_CHARS_MIN and root in _STEMS


# How English makes words out of words. Hardly a name of this length ends so.
_MADE = regex(
    r"[a-z]{3,}(?:[ts]ion|ment|ness|ship|able|ible|ability|ibility|i[sz]e|i[sz]ing|i[sz]ation|ative|itive|ological"
    r"|ously|ally|edly|ingly|less|fully|ically|ivity|ency|ology|ician|ification|istic|itional|ational)s?"
    r"|[a-z]{3,}(?:ized|ised|ments|ities)"
)
_MADE_CHARS_MIN = 7


def looks_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, or has the ending of a derived word."""
    if is_ordinary(word):
        return True
    return len(word) >= _MADE_CHARS_MIN and word.isascii() and _MADE.fullmatch(word) is not None
