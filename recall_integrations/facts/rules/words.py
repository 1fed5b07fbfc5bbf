"""Closed lists of words that the rules of facts know."""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.replace("\n", " ").split(",") if part.strip())


LANGUAGES = _set(
    """english, spanish, french, german, italian, portuguese, dutch, swedish, norwegian, danish, finnish, icelandic,
    polish, czech, slovak, hungarian, romanian, bulgarian, greek, turkish, russian, ukrainian, serbian, croatian,
    slovenian, albanian, latvian, lithuanian, estonian, irish, welsh, gaelic, basque, catalan, galician, arabic, hebrew,
    persian, farsi, urdu, hindi, bengali, punjabi, gujarati, marathi, tamil, telugu, kannada, malayalam, nepali,
    sinhala, thai, vietnamese, khmer, lao, burmese, malay, indonesian, tagalog, filipino, mandarin, cantonese, chinese,
    japanese, korean, mongolian, swahili, amharic, somali, yoruba, igbo, hausa, zulu, xhosa, afrikaans, latin, esperanto,
    sign language, american sign language, british sign language, brazilian portuguese, asl, bsl"""
)
NATIONALITIES = _set(
    """american, british, english, scottish, welsh, irish, canadian, australian, german, french, spanish, italian,
    portuguese, dutch, belgian, swiss, austrian, swedish, norwegian, danish, finnish, icelandic, polish, czech, slovak,
    hungarian, romanian, bulgarian, greek, turkish, russian, ukrainian, serbian, croatian, slovenian, albanian, latvian,
    lithuanian, estonian, israeli, lebanese, syrian, iraqi, iranian, egyptian, moroccan, algerian, tunisian, nigerian,
    ghanaian, kenyan, ethiopian, somali, south african, ugandan, tanzanian, indian, pakistani, bangladeshi, sri lankan,
    nepali, chinese, taiwanese, japanese, korean, south korean, vietnamese, thai, filipino, indonesian, malaysian,
    singaporean, mexican, cuban, colombian, venezuelan, peruvian, chilean, argentinian, argentine, brazilian, jamaican,
    puerto rican, dominican, new zealander"""
)
DIETS = _set(
    """vegan, vegetarian, pescatarian, gluten-free, gluten free, dairy-free, dairy free, lactose-free, keto, ketogenic,
    paleo, low-carb, low carb, halal, kosher, omnivore, carnivore, flexitarian, mediterranean, plant-based, plant based,
    fruitarian, raw vegan, nut-free, sugar-free, low-sodium, low sodium, whole30, fodmap, low-fodmap, low fodmap,
    intermittent fasting, lactose intolerant, omnivorous, raw food, dash, atkins, high-protein, low-fat"""
)
FOODS_LEFT = _set(
    """meat, red meat, fish, dairy, gluten, sugar, pork, beef, chicken, seafood, eggs, alcohol, bread, wheat, carbs,
    animal products, cheese, milk, caffeine, coffee, poultry, processed food"""
)
INSTRUMENTS = _set(
    """piano, guitar, acoustic guitar, electric guitar, bass, bass guitar, violin, viola, cello, double bass, drums,
    drum, flute, clarinet, saxophone, sax, trumpet, trombone, tuba, french horn, oboe, bassoon, harp, ukulele, banjo,
    mandolin, accordion, harmonica, keyboard, keyboards, organ, sitar, tabla, bagpipes, recorder, xylophone, marimba,
    percussion, fiddle, lute, synthesizer, theremin, classical guitar, steel drum, djembe, the drums"""
)
SPORTS = _set(
    """football, soccer, tennis, basketball, baseball, volleyball, badminton, squash, golf, cricket, rugby, hockey,
    ice hockey, field hockey, table tennis, ping pong, handball, softball, lacrosse, chess, padel, pickleball, netball,
    water polo, polo, bowling, darts, snooker, billiards, pool, ultimate frisbee, frisbee, american football,
    beach volleyball, futsal, dodgeball, racquetball, judo, karate, taekwondo, boxing, kickboxing, yoga, pilates,
    fencing, archery, gymnastics, crossfit, jiu-jitsu, jiu jitsu, aikido, kendo, wrestling, muay thai, swimming,
    running, cycling, rowing, climbing, rock climbing, bouldering, skiing, snowboarding, surfing, skateboarding,
    horse riding, horseback riding, kitesurfing, triathlon, triathlons, parkour, capoeira, jogging, weightlifting,
    figure skating, ice skating, roller derby, curling, tai chi, krav maga"""
)
HOBBIES = _set(
    """pottery, origami, calligraphy, chess, photography, archery, yoga, pilates, ceramics, woodwork, woodcarving,
    carpentry, embroidery, crochet, needlepoint, ballet, salsa, tango, karaoke, bingo, bridge, poker, astronomy,
    genealogy, falconry, taxidermy, beekeeping, gardening, falconry, topiary, bonsai, parkour, cosplay, watercolours,
    watercolors, sudoku, crosswords, geocaching, orienteering, birdwatching, tai chi, stargazing, improv, macrame"""
)
NOT_HOBBIES = _set(
    """being, having, getting, seeing, hearing, knowing, watching, going, making, doing, taking, working, spending, trying,
    giving, finding, sharing, looking, helping, using, talking, thinking, finishing, meeting, everything, something,
    nothing, anything, living, evening, morning, king, thing, ring, spring, string, wedding, building, ceiling, feeling,
    beginning, smoking, drinking, asking, waiting, coming, hoping, worrying, calling, arguing, complaining, studying,
    learning, teaching, training, that, this, it, offering, catching, counseling, counselling, mentoring, volunteering, parenting, nursing, exploring, telling, bringing, putting, keeping"""
)
CAR_MAKES = _set(
    """skoda, škoda, toyota, mazda, renault, volkswagen, vw, audi, bmw, mercedes, mercedes-benz, ford, opel, vauxhall, fiat,
    peugeot, citroen, citroën, seat, volvo, saab, honda, nissan, hyundai, kia, subaru, suzuki, mitsubishi, tesla, porsche,
    jaguar, lexus, dacia, jeep, chevrolet, chevy, dodge, chrysler, buick, cadillac, gmc, mini, smart, rover, polestar,
    rivian, lucid, byd, mg, alfa, lancia, ferrari, lamborghini, bentley, tata, mahindra, infiniti, acura, lada, cupra"""
)
NOT_PLAYED = _set("pool, polo, bass, running, yoga, pilates")
MARITAL = _set(
    """married, single, divorced, engaged, widowed, separated, in a relationship, happily married, newly engaged,
    newly married, recently divorced, recently engaged, recently married, newlywed, unmarried,
    in a long-term relationship"""
)
RELIGIONS = _set(
    """christian, catholic, protestant, orthodox, anglican, methodist, baptist, lutheran, presbyterian, mormon, quaker,
    muslim, sunni, shia, jewish, hindu, buddhist, sikh, jain, taoist, atheist, agnostic, pagan, wiccan, bahai,
    christianity, catholicism, islam, judaism, hinduism, buddhism, sikhism"""
)
CONDITIONS = _set(
    """asthma, diabetes, type 1 diabetes, type 2 diabetes, epilepsy, adhd, add, arthritis, celiac disease,
    coeliac disease, migraines, hypertension, high blood pressure, low blood pressure, anemia, anaemia, eczema,
    psoriasis, insomnia, depression, anxiety, lupus, crohn's disease, crohn's, ibs, pcos, endometriosis,
    hypothyroidism, hyperthyroidism, glaucoma, tinnitus, sleep apnea, sleep apnoea, scoliosis, fibromyalgia,
    rheumatoid arthritis, osteoarthritis, osteoporosis, dyslexia, autism, bipolar disorder, ptsd, ocd, vertigo, gout,
    parkinson's, multiple sclerosis, long covid, hay fever, lactose intolerance, gestational diabetes"""
)
WORK_HEADS = _set(
    """accountant, actor, actress, adviser, advisor, agent, analyst, anaesthetist, animator, architect, archivist,
    artist, assistant, astronaut, astronomer, attorney, auditor, author, baker, banker, barber, barista, barrister,
    bartender, biologist, blacksmith, bookkeeper, botanist, bricklayer, broker, builder, butcher, captain, cardiologist,
    caretaker, carpenter, cashier, chauffeur, chef, chemist, choreographer, clerk, cleaner, composer, comedian,
    conductor, consultant, contractor, cook, coordinator, copywriter, counsellor, counselor, courier, curator,
    dancer, dentist, dermatologist, designer, detective, developer, dietitian, diplomat, director, doctor, driver,
    ecologist, economist, editor, electrician, engineer, estimator, executive, farmer, filmmaker, firefighter,
    fisherman, florist, freelancer, gardener, geologist, goldsmith, hairdresser, handyman, historian, housekeeper,
    illustrator, inspector, instructor, interpreter, intern, investigator, janitor, jeweller, jeweler, joiner,
    journalist, judge, laborer, labourer, landscaper, lawyer, lecturer, librarian, lifeguard, locksmith, machinist,
    magician, manager, marketer, mason, mathematician, mechanic, meteorologist, microbiologist, midwife, miner, model,
    musician, nanny, neurologist, notary, novelist, nurse, nutritionist, officer, operator, optician, optometrist,
    painter, paralegal, paramedic, pastor, pathologist, pediatrician, paediatrician, pharmacist, philosopher,
    photographer, physician, physicist, physiotherapist, pilot, planner, plumber, poet, police officer, politician,
    porter, potter, president, priest, principal, producer, professor, programmer, psychiatrist, psychologist,
    publicist, rabbi, radiologist, ranger, realtor, receptionist, recruiter, registrar, reporter, representative,
    researcher, roofer, sailor, salesman, salesperson, saleswoman, scientist, sculptor, seamstress, secretary,
    sergeant, server, sheriff, shopkeeper, singer, software engineer, sociologist, soldier, solicitor, specialist,
    statistician, stewardess, steward, strategist, supervisor, surgeon, surveyor, tailor, teacher, technician,
    technologist, therapist, trader, trainer, translator, treasurer, tutor, undertaker, underwriter, veterinarian, vet,
    videographer, volunteer, waiter, waitress, watchmaker, welder, writer, zoologist, zookeeper, cto, ceo, cfo, coo,
    vp, vice president, head, partner, postdoc, phd student, student, apprentice, associate, trainee, owner, founder,
    freelance, consultant, lead, practitioner, radiographer, scrum master, nursing assistant, bus driver, sommelier"""
)
LOOSE_HEADS = _set("head, partner, lead, model, freelance, owner, founder, captain, judge, cook, host, volunteer")
RELATIONS = _set(
    """mother, mom, mum, mommy, father, dad, parents, sister, brother, sibling, twin, son, daughter, child, kid,
    wife, husband, spouse, partner, girlfriend, boyfriend, fiance, fiancee, fiancé, fiancée, ex, uncle, aunt, auntie,
    cousin, niece, nephew, grandmother, grandma, granny, nan, grandfather, grandpa, grandson, granddaughter, friend,
    boss, manager, colleague, coworker, co-worker, teammate, neighbour, neighbor, roommate, flatmate, housemate, tutor,
    mentor, teacher, landlord, landlady, doctor, dentist, therapist, lawyer, accountant, mother-in-law, father-in-law,
    sister-in-law, brother-in-law, son-in-law, daughter-in-law, stepmother, stepfather, stepsister, stepbrother,
    stepson, stepdaughter, supervisor, assistant, dog, cat, puppy, kitten, pet, horse, rabbit, parrot, hamster,
    coach, trainer, intern, nanny, babysitter, client, pen pal, godmother, godfather, vet"""
)
RELATION_ADJECTIVES = _set(
    """older, younger, elder, eldest, oldest, youngest, little, big, twin, baby, half, best, old, close, good, childhood,
    new, current, late, first, second, middle, only, step, former, dear, ex, college, school, grand, great, foster"""
)
FEMALE = _set(
    """mother, mom, mum, mommy, sister, daughter, wife, girlfriend, fiancee, fiancée, aunt, auntie, niece, grandmother,
    grandma, granny, nan, granddaughter, landlady, mother-in-law, sister-in-law, daughter-in-law, stepmother, stepsister,
    stepdaughter, godmother"""
)
MALE = _set(
    """father, dad, brother, son, husband, boyfriend, fiance, fiancé, uncle, nephew, grandfather, grandpa, grandson,
    landlord, father-in-law, brother-in-law, son-in-law, stepfather, stepbrother, stepson, godfather"""
)
COLOURS = _set(
    """red, blue, green, yellow, orange, purple, pink, black, white, grey, gray, brown, beige, teal, turquoise, navy,
    maroon, violet, indigo, gold, silver, cyan, magenta, lavender, crimson, burgundy, olive, coral, blonde, blond,
    hazel, auburn, ginger, emerald, mint, peach, ivory, cream, charcoal, amber, scarlet, lilac, mauve, lime"""
)
EDITORS = _set(
    """vim, neovim, emacs, vs code, vscode, visual studio code, sublime, sublime text, zed, helix, nano, pycharm,
    intellij, atom, notepad++, rider, webstorm, visual studio, eclipse, xcode, cursor"""
)
MONTHS = _set(
    """january, february, march, april, may, june, july, august, september, october, november, december, jan, feb, mar,
    apr, jun, jul, aug, sep, sept, oct, nov, dec"""
)
DAYS = _set("monday, tuesday, wednesday, thursday, friday, saturday, sunday")
SUBJECTS_TAIL = _set(
    "a, an, the, to, of, in, on, for, and, or, with, as, is, was, are, be, my, our, your, his, her, their"
)
NOT_NAMES = (
    MONTHS
    | DAYS
    | _set(
        """i, we, you, he, she, it, they, this, that, these, those, there, here, what, who, when, where, why, how, which, if,
    and, but, so, or, because, then, well, yes, yeah, yep, no, nope, nah, ok, okay, oh, wow, hey, hi, hello, thanks, thank,
    sorry, actually, also, maybe, perhaps, everyone, everybody, someone, somebody, nobody, anyone, nothing, something,
    everything, anything, one, two, three, all, some, any, each, every, both, another, other, my, our, your, his, her,
    their, its, the, a, an, let, today, tomorrow, yesterday, now, life, time, people, family, god, music, art, nature,
    work, home, love, note, please, just, still, not, never, always, sometimes, great, good, nice, cool, awesome, sounds,
    looks, feels, only, even, once, after, before, while, since, until, though, although, as, at, by, for, from, in, of, on,
    to, with, without, being, having, doing, going, getting, most, many, much, more, few, several, enough, such, same, first,
    second, last, next, new, old, sure, right, true, glad, happy, sad, lol, haha, btw, fyi, mr, mrs, ms, dr, mom, dad,
    christmas, easter, halloween, thanksgiving, ours, mine, yours, except, like, therapy, step, congrats, exactly,
    whoever, whatever, whenever, self, dude, man, guys, bro, girl, cheers, ah, aw, aww, hmm, um, uh, gosh, apparently"""
    )
)
EVALUATIVE = _set(
    """good, great, bad, fine, nice, awesome, amazing, terrible, horrible, awful, ok, okay, cool, fun, hard, easy, tough,
    busy, crazy, weird, strange, perfect, wonderful, fantastic, lovely, beautiful, cute, adorable, sweet, gorgeous, happy,
    sad, sick, ill, tired, sore, ready, done, over, off, gone, here, there, back, dead, alive, broken, empty, full, big,
    small, huge, tiny, old, new, young, long, short, high, low, late, early, slow, fast, important, different, similar,
    same, wrong, right, true, real, sure, clear, close, far, near, up, down, out, in, on, open, closed, free, safe, better,
    worse, best, worst, supportive, proud, excited, amazed, important, special, favourite, favorite, everything, nothing,
    something, it, this, that, these, those, them, him, her, me, you, us, mine, yours, ours, next, first, last, tomorrow,
    today, yesterday, pending, due, unknown, simple, messy, clean, dirty, expensive, cheap, strong, weak, interesting,
    boring, exciting, incredible, unreal, killing, insane, limited, precious, fresh, delicious, tasty, yummy, healthy,
    stressful, difficult, challenging, rough, solid, endless, overwhelming, unique, intense, inspiring, rewarding,
    unclear, available, private, public, secret, complete, valid, invalid, missing, lost, fixed, working, stuck"""
)
OPEN_NOT = _set(
    """day, week, weekend, month, year, life, heart, soul, family, folks, point, thing, mind, thought, thoughts, goal,
    goals, dream, dreams, plan, plans, hope, passion, time, experience, journey, question, questions, problem, problems,
    issue, issues, idea, ideas, opinion, view, guess, fault, bad, fear, worry, concern, reason, advice, take, feeling,
    feelings, faith, love, body, head, back, hands, eyes, stomach, brain, side, turn, way, world, reality, story, stories,
    mistake, apologies, pleasure, honour, honor, priority, focus, intention, aim, understanding, approach, strategy,
    suggestion, request, answer, response, impression, recommendation, people, everything, work, project, projects, art,
    painting, book, game, team's, kids, children, parents, friends, biggest fear, main thing, main goal, trip, vacation,
    event, party, wedding, class, business, store, studio, stuff, emotions, comfort, support, inspiration, motivation,
    happiness, mission, purpose, wish, strength, weakness, code, function, query, app, script, data, current code,
    own, mood, energy, situation, setup, expectation, go, interest, interests, hobby, favourite, favorite, favourites,
    preference, style, contribution, research, essay, paper, thesis, site, website, progress, best, worst, next step"""
)
OPEN_HEADS_NOT = _set(
    """part, thing, things, memory, memories, moment, moments, time, times, way, ways, goal, goals, dream, dreams, issue,
    issues, problem, problems, question, concern, reason, idea, plan, plans, fear, hope, focus, priority, experience,
    understanding, challenge, challenges, step, life, journey, day, days, piece, quote, person, people, advice, aspect,
    thought, thoughts, bit, feeling, feelings, pastime, intention, passion, tip, tips, option, choice, lesson, story,
    mistake, work, approach, inspiration, motivation, source, support, world, family, friends, result, results, regret,
    self, turn, one, ones, side, project, app, function, query, script, error, wish, mission, purpose, opinion"""
)
ATTRIBUTE_HEADS = _set(
    """size, code, password, order, colour, color, seat, spot, browser, number, username, handle, pin, plan, model, brand,
    snack, breakfast, lunch, dinner, id, account, name, time, date, type, level, score, grade, rate, speed, limit, floor,
    desk, office, locker, key, passcode, host, port, server, url, domain, language, theme, font, keyboard, timezone, zone,
    license, licence, plate, passport, visa, subscription, provider, operator, plan, sign, star sign, zodiac sign, route,
    bus, train, station, stop, airline, hotel, drink, tea, coffee, beer, wine, juice, milk, cereal, genre, artist, band,
    pizza, topping, flavour, flavor, scent, perfume, shampoo, soap, toothpaste, brand, temperature, alarm, bedtime, commute,
    address, street, postcode, zip, frequency, dose, dosage, target, quota, budget, position, rank, role, tier, layout,
    distro, distribution, framework, library, database, shell, terminal, os, machine, camera, lens, guitar, piano, shoes,
    boots, watch, glasses, tv, console, headphones, speaker, tablet, printer, router, sofa, mattress, bed, wallpaper,
    tattoo, major, minor, thesis topic, topic, subject, course, club, church, parish, district, neighbourhood,
    neighborhood, county, state, region, dialect, accent, superpower, spirit animal, politics, party, membership, card"""
)
