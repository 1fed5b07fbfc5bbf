"""Words that give no hint of being a name, however they are written, and words that give one.

Extend the lists; each says what it is for.
"""

from __future__ import annotations

import re
from functools import lru_cache

from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import ACRONYMS, CALENDAR_WORDS, is_ordinary
from recall_integrations.query.glance import word_set
from recall_integrations.text import STOP_WORDS

TITLES = word_set("mr mrs ms mx miss dr prof professor sir madam dame lord lady rev judge senator")

# Upper case that names nobody in particular.
HOLIDAY_WORDS = word_set(
    """
    christmas xmas easter thanksgiving halloween hanukkah chanukah diwali eid ramadan passover kwanzaa juneteenth purim
    yom kippur rosh hashanah nowruz lent pentecost epiphany valentine valentine's valentines nye oktoberfest cinco mayo
    mardi gras advent noel yule eve hogmanay holi vesak festivus
    """
)
NATIONALITIES = word_set(
    """
    afghan african albanian algerian american amharic arab arabic argentine argentinian armenian asian australian
    austrian azerbaijani bangladeshi basque belarusian belgian bengali bolivian bosnian brazilian british bulgarian
    burmese cambodian cameroonian canadian cantonese caribbean catalan caucasian chilean chinese colombian congolese
    croatian cuban czech danish dutch egyptian english estonian ethiopian european farsi filipino finnish flemish french
    gaelic georgian german ghanaian greek guatemalan gujarati haitian hawaiian hebrew hindi hispanic hungarian icelandic
    indian indonesian iranian iraqi irish israeli italian jamaican japanese jordanian kazakh kenyan khmer korean kurdish
    lao laotian latin latina latino latvian lebanese libyan lithuanian macedonian malay malaysian maltese mandarin maori
    marathi mexican moldovan mongolian moroccan nepalese nepali nigerian nordic norwegian pakistani palestinian
    panamanian pashto persian peruvian polish polynesian portuguese punjabi quechua roman romanian russian rwandan
    sanskrit saudi scandinavian scottish senegalese serbian singaporean slavic slovak slovenian somali spanish sudanese
    swahili swedish swiss syrian tagalog taiwanese tamil telugu thai tibetan tunisian turkish ugandan ukrainian urdu
    uruguayan uzbek venezuelan victorian vietnamese welsh yiddish yoruba zimbabwean zulu
    americans brits germans italians europeans asians australians canadians russians mexicans brazilians
    christian christians christianity catholic catholics muslim muslims islam islamic jewish judaism buddhist buddhism
    hindu hinduism protestant baptist orthodox
    """
)
INTERJECTIONS = word_set(
    """
    aah aargh agreed ahem ahh argh aw aww awww bah bam bingo boo bravo bro brr btw bye cheers congrats congratulations
    cya dang darn dude dunno duh eek eh em fyi gah gee geez gg gosh goodbye gotcha greetings grr ha haha hahaha
    hallelujah hell hello hey hi hm hmm hmmm ho hooray howdy huh hurray idk ikr imho imo jeez kudos lemme lmao lmk lol
    ma'am mm mmm mhm nah nope np oh ok okay okey omg omw oof ooh ooo oops ouch ow phew pls plz psst rofl salut shh
    sheesh sigh smh sup ta tbh thank thanks thanx thx tldr touche tsk ttyl ugh uh uhh um umm voila wassup welp whew
    whoa whoah whoo woah woo woohoo woot wow wowza wtf y'all ya yah yahoo yay yea yeah yeh yep yes yikes yippee yo yuck
    yum yummy yup zzz goodnight gn tho thru ur cuz cos gimme ain't em hiya heya toodles cheerio sorry apologies lately
    bon appetit voyage
    """
)
# Common words that open a sentence or are written large and that the list of ordinary words lacks.
GENERIC = word_set(
    """
    mom mum mommy mama dad daddy papa grandma grandpa granny nana auntie uncle god gods jesus christ bible internet web
    earth sun moon covid corona wifi zoom selfie selfies podcast podcasts yoga pilates zumba karate judo hiking
    kayaking photography meditation volunteering gardening pottery origami ceramics mindfulness journaling sushi pizza
    pasta tacos ramen hummus gluten acrylics watercolors lgbtq lgbtqia lgbt ptsd adhd mri bbq phd mba gpa sat gre
    faq todo fixme nb ps asap eod eow eta ooo wip lgtm rca okr okrs kpi kpis poc mvp sla slo rfc ama tba tbd tldr fwiw
    iirc afaik rn ssn pto hq gdpr pii saas b2b b2c usa uk eu us u.s nyc ama dm dms gif gifs pdf pdfs mp3 mp4 tv tvs
    north south east west northern southern eastern western bluetooth unicode kubernetes-style
    prerequisites workaround recap namaste feng shui bachelor's master's bachelors masters
    analyst analysts consultant accountant architect technician recruiter intern internship strategist developer
    developers administrator coordinator specialist associate apprentice therapist psychologist paralegal principal
    activist activists philosopher veterinarian freelancer founder cofounder co-founder
    county pub chess checkers frisbee lego monopoly esports vr ar ps rpg mediterranean midwest midwestern zen
    labrador chihuahua poodle bulldog dachshund terrier corgi retriever husky beagle collie shephard dragon dragons
    lilies roses tulips orchids sunflowers fireworks appendix changelog readme markdown
    """
)
BLOCKED = (
    CALENDAR_WORDS
    | HOLIDAY_WORDS
    | NATIONALITIES
    | INTERJECTIONS
    | GENERIC
    | word_set(
        """
        mon tue tues wed thu thur thurs fri sat sun mondays tuesdays wednesdays thursdays fridays saturdays sundays
        """
    )
)

# Ordinary words that are the first word of a name at the start of a sentence ("New York is …").
NAME_OPENERS = word_set(
    """
    new north south east west great big little old red black white blue green golden silver royal first united
    national international general saint st mount mt lake fort port cape los las san santa el grand upper lower project
    university bank museum hotel hospital camp river club cafe
    """
)

# Who stands before one of these is somebody, or something that acts. Third person or past.
PERSON_VERBS = word_set(
    """
    said says told tells asked asks thinks thought wants wanted likes liked loves loved hates hated prefers preferred
    reports works worked manages managed lives lived joined joins met meets called calls emailed emails mentioned
    mentions recommended recommends suggested suggests agreed agrees approved approves wrote writes sent sends leads led
    owns owned moved moves married knows knew believes decided decides promised offered replied replies invited
    explained confirmed confirms presented proposed reviewed reviews merged signed visited visits bought went goes came
    gave gives got gets took takes brought teaches taught studies studied plays played enjoys enjoyed hopes hoped feels
    felt sings cooks runs ran drives drove quit resigned founded hired graduated volunteered volunteers complained
    insisted noted argued announced pinged messaged texted hosts hosted mentors mentored needs needed
    uses used speaks spoke understands remembers remembered forgot left returned arrived became assigned escalated
    depends
    """
)

_SEAT = regex(r"[a-z]?\d{1,4}[a-z]?\Z")  # B12, 2nd floor's 2a
_STRETCHED = regex(r"(.)\1\1|^(?:ha|he|ah|ho|ja|la|na|bla|wo)(?:ha|he|ah|ho|ja|la|na|bla|wo)+h?\Z")


def is_plain(low: str) -> bool:
    """Say whether a word in lower case gives no hint of being a name."""
    return low in STOP_WORDS or low in BLOCKED or _is_known(low)


@lru_cache(maxsize=16_384)
def _is_known(low: str) -> bool:
    if _SEAT.match(low) or is_ordinary(low) or low in ACRONYMS or _STRETCHED.search(low) or low in TITLES:
        return True
    if "-" in low or "&" in low or "'" in low:
        parts = re.split(r"[-&']", low)
        if all(p in BLOCKED or is_ordinary(p) for p in parts):
            return True
        if "'" in low:
            return low.rsplit("'", 1)[1] in {"t", "re", "ve", "ll", "d", "m", "em", "all", "s"}
        return parts[0] in {"non", "pre", "post", "anti", "co", "re", "un", "multi", "semi", "ex", "mid"}
    return any(low.endswith(end) and low[: -len(end)] in BLOCKED for end in ("s", "es", "ish"))
