"""Words of notes and asides that the loose reader knows: those that weigh nothing, and those that tell what happened."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ME = _set("my mine our ours me i we us i'm i've im ive we're we've myself ourselves yours self")
# With one of these a sentence states nothing, or not of whom it seems to.
POISON = _set(
    "if whether unless wish wishes wishing hope hopes hoping hopefully might maybe perhaps could should shall would'd"
    " imagine pretend suppose supposing hypothetically think thinks thinking thought looking look considering consider"
    " planning plan plans planned want wants wanted wanna wanting dreaming dream dreams dreamt dreamed wonder wondering heard hear"
    " said says say told tells tell asked ask asks claims claimed believes believed supposedly allegedly apparently"
    " you your you're you've yours they their they're them theirs someone somebody everyone everybody anyone"
    " anybody nobody people"
    " why how because though although unfortunately almost nearly someday eventually either neither probably likely"
    " joke joking kidding lol haha example e.g. i'd we'd he'd she'd they'd i'll we'll he'll she'll they'll"
    " you'll will won't"
    " can't cannot couldn't wouldn't shouldn't let's lets love? recommend recommended suggest suggested similar like"
    " than especially during whoever whatever wherever"
    " when while gotta gonna trying need try watched watching read listened listening saw seen met visited"
    " visiting visit trip holiday vacation weekend flight"
    " tonight tomorrow interview interviewed party "
    " thanks thank congrats congratulations happy welcome hello"
)
# Some of them say nothing bad where the speaker's own thing is named, or a value that only a fact has.
MILD = _set(
    "if should can could can't cannot won't although though because during than they their let's someone"
    " somebody you'd you'll when while need try you your people will would should like   think because people's"
    " tomorrow lunch coffee game"
    " someone anyone anybody everybody everyone them they dinner breakfast read whoever hello thanks look looking"
    "    "
)
TALK = _set(
    "fyi btw update updated updates note notes noted reminder heads up ok okay so well and but also plus oh hey"
    " hi yes yeah yep"
    " right just really actually honestly basically simply anyway alright quick quickly psa ps p.s memo info"
    " information"
    " please pls plz kindly remember record records recorded jot down write written put file filed under on-file"
    " log logged save saved store stored add added list listed mark marked enter entered key entry field"
    " profile for-the-record one finally at last"
    " turns out guess what big small little happens proud proudly happily sure certainly definitely of-course course"
    " wise matter fact far concerned goes go going as it comes came when where which who that this these those"
    " there here"
    " know known let take taken get got gets getting have has had having been being be is are was were am 's"
    " is' 're 've"
    " do does did done doing make makes made making use uses used using keep keeps kept keeping set sets"
    " setting give gives"
    " given gave find found show shows reads read says-so stands stand sits sit remains remain stays stay"
    " stayed continues continue"
    " still same again before ever always usually mostly mainly generally normally typically officially by"
    " choice option pick picked picks chosen chose choose went gone turn turned turning become became becoming"
    " settled settle"
    " start started starts starting began begin switched switch switching change changed changes changing swapped swap"
    " moved move moving shifted shift replaced replace replaces replacing replacement traded trade trading"
    " exchange exchanged"
    " dropped drop dropping ditched ditch dumped dump scrapped scrap retired retire quit left leave leaving"
    " ended end ends"
    " ending stopped stop over out in off gone dead cancelled canceled cancel expired discontinued disconnected"
    " closed lost"
    " sold sell bought buy brought upgraded upgrade bumped raised lowered cut increased reduced extended"
    " postponed pushed"
    " delayed rescheduled renamed reset renewed"
    " new old former formerly previous previously prior current currently present presently latest newest"
    " recent recently"
    " original originally initially first once earlier ex"
    " now nowadays today days moment time times long while ages years year months month week weeks since until"
    " till from"
    " onwards forward effective immediately yesterday ago last past these"
    " any more anymore longer no not never isn't aren't wasn't weren't doesn't don't didn't hasn't haven't isnt"
    " dont doesnt"
    " instead rather of in place-of correction corrected correct typo wrong mistake mistaken oops sorry"
    " misspoke meant mean"
    " should scratch strike ignore forget disregard nope wait actually"
    " the a an to at on with into onto for about as per via through or then yet too though both only all whole"
    " every each"
    " else other another own personal private main primary usual regular default"
    " he she his her him hers its it it's that's he's she's there's here's this'll they'd yes"
    " serves serve acts works-as works work counts count passes goes-by called named calls call known"
    " everybody's everyone's mate folks guys all everyone else reach need needed needs"
    " must bound supposed has-to hands answer question case anyone asks whenever ever-since"
    " would kid child teenager teen toddler ages says loving done"
    " myself ourselves himself herself itself me my mine our ours us i we i'm i've im ive we're we've"
)  # fmt: skip
# What says that a value holds no longer.
ENDED = _set(
    "dead gone cancelled canceled quit expired discontinued disconnected stopped ended retired ditched dropped scrapped"
    " dumped sold left resigned obsolete defunct void invalid over history lost closed abandoned split notice"
    " longer anymore"
    " broke ceased finished deactivated revoked terminated cancel drop scrap ditch out done"
)
PAST = _set("was were used formerly previously once former ex old previous earlier originally initially had prior past")
FIXED = _set(
    "correction corrected typo wrong mistake mistaken oops sorry misspoke meant scratch strike ignore disregard"
    " nope wait"
    " actually misremembered erratum mixed"
)
CHANGING = _set(
    "changed changes change changing switched switch switching moved move moving shifted went gone going bumped raised"
    " lowered cut increased reduced up down updated update upgraded extended postponed pushed delayed"
    " rescheduled renamed"
    " reset swapped swap traded slipped turned set converted dropped rose jumped fell grew transferred migrated passed"
    " handed raised promoted rotated"
)
GIVEN_UP = _set(
    "swapped swap swapping traded trade trading dropped drop dropping ditched ditch dumped dump exchanged exchange left"
    " leave leaving quit switched switch gave abandoned sold forsook deserted changed"
)
HOLDS = _set("now nowadays currently since presently lately currently:")
_DAYS = (
    "these days",
    "at the moment",
    "at present",
    "right now",
    "for good",
    "as of",
    "from now",
    "any more",
    "no longer",
)
PREPOSITIONS = _set("with to from at in on by near for of into as under via about after before around behind without")
ARROWS = frozenset(("->", "=>", "→", "-->", "»", ">", "⇒", "➔", "➡"))
SEPARATORS = (
    frozenset((":", "=", "-", "–", "—", "--", ",", "(", ")", ";", '"', "“", "”", "|", "/", "~", "•", "*")) | ARROWS
)
