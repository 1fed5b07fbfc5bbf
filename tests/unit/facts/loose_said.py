"""Statements in the words of notes, chats and voices; `slot | op | value | subject | text`, of a change `new<old`."""

SAID = """
phone_number | is | 555-0202 | | new number: 555-0202
phone_number | is | 555-0202 | | Phone – 555-0202
phone_number | is | 555-0202 | | 555-0202 (my cell)
phone_number | is | 555-0202 | | my cell, in case you need it, 555-0202
phone_number | is | 555-0202 | | heads up, number's changed: 555-0202
phone_number | is | 07700 900123 | | ring me on 07700 900123 from now on
phone_number | is | 555-0202 | Priya | Priya's digits: 555-0202
phone_number | is | 555-0202 | my sister | sister's mobile - 555-0202
phone_number | is | 555-0202<555-0101 | | phone: 555-0101 -> 555-0202
phone_number | not | 555-0101 | | don't use 555-0101 any more, that phone of mine is dead
phone_number | is | 555-0202 | | put 555-0202 down as my phone number
phone_number | is | 555-0202 | | note to self: my new mobile no is 555-0202
email | is | sam.lee@inbox3.example | | sam.lee@inbox3.example is where my mail goes now
email | is | sam.lee@inbox3.example | | email = sam.lee@inbox3.example
email | is | sam.lee@inbox3.example | | Please use sam.lee@inbox3.example for my mail from today
email | is | sam@post.example<old@post.example | | swapped my email from old@post.example to sam@post.example
email | is | priya@post.example | Priya | Priya – email priya@post.example
email | not | old@post.example | | old@post.example is dead, it was my email
email | is | sam@post.example | | My inbox? sam@post.example
address | is | 14 Alder Lane | | home address, updated: 14 Alder Lane
address | is | 14 Alder Lane | | we're at 14 Alder Lane these days
address | is | 14 Alder Lane | | my new place: 14 Alder Lane
address | is | 14 Alder Lane | Priya | deliveries for Priya: 14 Alder Lane
address | is | 14 Alder Lane<3 Mill Road | | address went from 3 Mill Road to 14 Alder Lane
address | was | 3 Mill Road | | 3 Mill Road was my old address
address | is | 22 Poplar Avenue | | Post for me goes to 22 Poplar Avenue
address | is | 22 Poplar Avenue | my uncle | my uncle's house is 22 Poplar Avenue
home | is | Berlin | | in Berlin these days
home | is | Berlin | | Berlin is home now
home | is | Berlin | | Home = Berlin
home | is | Lisbon<Berlin | | swapped Berlin for Lisbon, loving it
home | is | Lisbon<Berlin | | traded Berlin for Lisbon
home | is | Lisbon<Berlin | | Berlin -> Lisbon, the move is done
home | is | Lisbon | Priya | Priya: now in Lisbon
home | is | Lisbon | my sister | my sister calls Lisbon home
home | is | Oslo | | have been in Oslo since spring
home | is | Oslo | | Oslo's my home these days
home | not | Berlin | | done with Berlin, moved out
home | not | Berlin | | no longer in Berlin
home | was | Berlin | | Berlin was home back then
home | was | Berlin | | was in Berlin before, lived there for ages
home | is | Toronto | | currently calling Toronto home
home | is | Bristol | Henrietta | Henrietta has set up home in Bristol
home | is | Bristol | | I've got myself a flat in Bristol
employer | is | Acme | | now at Acme
employer | is | Bluepeak | | new job at Bluepeak!
employer | is | Bluepeak | | employer: Bluepeak
employer | is | Bluepeak | | Bluepeak pays my salary
employer | is | Bluepeak | | on the payroll of Bluepeak these days
employer | is | Bluepeak<Acme | | traded Acme for Bluepeak as my employer
employer | is | Bluepeak<Acme | | out of Acme, in at Bluepeak
employer | is | Bluepeak | Sam | Sam's with Bluepeak now, workwise
employer | is | Quillon | my brother | my brother has a job with Quillon
employer | is | Quillon | | work: Quillon
employer | not | Acme | | handed in my notice at Acme
employer | was | Acme | | Acme used to pay my bills
employer | is | Quillon | | my paycheck comes from Quillon
job | is | nurse | | job title: nurse
job | is | data engineer | | day job these days: data engineer
job | is | nurse | Priya | Priya, nurse by profession
job | is | team lead<developer | | went from developer to team lead at work
job | is | plumber | my cousin | my cousin is a plumber by trade
job | is | teacher | | I earn my living as a teacher
boss | is | Henrietta Tanaka | | boss these days: Henrietta Tanaka
boss | is | Henrietta | | Henrietta's the boss of me now
boss | is | Sam | Priya | Priya's got a new manager, Sam
boss | is | Sam<Henrietta | | manager change: Henrietta out, Sam in
boss | is | Sam | | I answer to Sam at work
boss | is | Sam | | Sam runs my team now, so he's my boss
boss | was | Henrietta | | Henrietta was my boss once
birthday | is | 3 May | | bday: 3 May
birthday | is | 12 July | | born 12 July
birthday | is | 12 July | my sister | my sister turns a year older every 12 July
birthday | is | 12 July | Sam | Sam's b-day – 12 July
birthday | is | 12 July | | 12 July is my big day, birthday I mean
diet | is | vegan | | vegan these days
diet | is | vegan | | gone vegan
diet | is | keto | | on keto at the moment
diet | is | pescatarian<vegan | | vegan -> pescatarian
diet | is | vegetarian | Priya | Priya: vegetarian
diet | not | keto | | quit keto
diet | not | vegan | | not vegan any more
diet | was | keto | | was keto for a while
diet | is | gluten-free | my uncle | my uncle's gone gluten-free
diet | is | halal | | I only eat halal
partner | is | Sam | | Sam and I are a couple now
partner | is | Sam | | new boyfriend, Sam
partner | is | Sam | Priya | Priya and Sam are together
partner | not | Sam | | Sam and I split up
partner | is | Henrietta | | my better half is Henrietta
partner | is | Sam | | my other half: Sam
favourite_colour | is | green | | fav colour: green
favourite_colour | is | teal | | teal is the colour for me
favourite_colour | is | green<blue | | blue out, green in: favourite colour
favourite_colour | is | teal | Priya | Priya's go-to color is teal
favourite_colour | is | green | | colour I love most: green
favourite_colour | was | blue | | blue was my favourite colour as a kid
favourite_food | is | ramen | | ramen, hands down my fav food
favourite_food | is | pho | | top dish for me: pho
favourite_food | is | pho<ramen | | dropped ramen for pho as my favourite food
favourite_food | is | falafel | my brother | my brother's number one food is falafel
wifi_password | is | tulip-4821 | | wifi pw: tulip-4821
wifi_password | is | tulip-4821 | | password for my wifi -> tulip-4821
wifi_password | is | tulip-4821 | | log in to my wifi with tulip-4821
wifi_password | is | river4stone<tulip-4821 | | wifi key changed, tulip-4821 is out, river4stone is in
gym | is | Ironworks | | gym: Ironworks
gym | is | Pulse Fitness | | signed up with Pulse Fitness, my gym now
gym | is | Pulse Fitness | | hitting the gym at Pulse Fitness these days
gym | is | FitBarn<Ironworks | | swapped gyms: Ironworks to FitBarn
gym | not | Ironworks | | cancelled Ironworks, so no gym for me
gym | is | FitBarn | Sam | Sam pumps iron at FitBarn
car | is | Volvo V60 | | ride: Volvo V60
car | is | Volvo V60 | | my wheels are a Volvo V60
car | is | Honda Jazz<Fiat Panda | | traded in the Fiat Panda for a Honda Jazz
car | is | Honda Jazz | my mother | my mother's behind the wheel of a Honda Jazz now
car | not | Fiat Panda | | the Fiat Panda is gone, no car now
car | was | Fiat Panda | | Fiat Panda was my first car
doctor | is | Dr Okafor | | GP: Dr Okafor
doctor | is | Dr Okafor | | under the care of Dr Okafor now
doctor | is | Dr Okafor<Dr Brandt | | doctor switched from Dr Brandt to Dr Okafor
doctor | is | Dr Okafor | Priya | Dr Okafor looks after Priya these days
dentist | is | Dr Petrov | | teeth: Dr Petrov is my dentist
dentist | is | Dr Petrov | | dentist - Dr Petrov
time_zone | is | CET | | timezone CET now
time_zone | is | PST<CET | | CET -> PST time zone
time_zone | is | GMT+8 | Sam | Sam's clock runs on GMT+8
editor | is | Zed | | editor of choice: Zed
editor | is | Helix<Vim | | Vim out, Helix in
editor | is | Helix<Vim | | ditched Vim for Helix
editor | is | Emacs | Priya | Priya swears by Emacs as editor
editor | is | Zed | | coding in Zed these days
browser | is | Firefox | | default browser: Firefox
browser | is | Firefox<Chrome | | dumped Chrome for Firefox as my browser
operating_system | is | Fedora | | laptop OS: Fedora
phone_model | is | Pixel 9 | | handset = Pixel 9
computer | is | ThinkPad X1 | | laptop: ThinkPad X1
bank | is | Monzo | | bank: Monzo
bank | is | Monzo<Barclays | | moved my bank account from Barclays to Monzo
bank | is | Monzo | | my money sits with Monzo
insurer | is | Allianz | | insured with Allianz
insurer | is | Allianz | my mother | my mother's insurance: Allianz
mobile_provider | is | Vodafone | | carrier: Vodafone
landlord | is | Mr Brandt | | landlord – Mr Brandt
rent | is | 950 euros | | rent now 950 euros
rent | is | 950 euros<900 euros | | rent 900 euros -> 950 euros
rent | is | £900 | | paying £900 rent
rent | is | £900 | Sam | Sam's rent: £900
salary | is | 52k | | on 52k now, salary I mean
salary | is | 52,000 dollars | | pay bumped to 52,000 dollars
deadline | is | 3 May | Project Kestrel | Project Kestrel: due 3 May
deadline | is | 10 May<3 May | Project Kestrel | Project Kestrel deadline 3 May -> 10 May
deadline | is | 10 May | the newsletter | newsletter needs to be done by 10 May
deadline | is | 10 May | Project Kestrel | deadline for Project Kestrel now 10 May
location | is | room B12 | the weekly review | weekly review: room B12
location | is | the Attic | Project Kestrel | Project Kestrel meets in the Attic from now on
owner | is | Henrietta | Project Kestrel | Project Kestrel: Henrietta is in charge
owner | is | Henrietta<Sam | Project Kestrel | Project Kestrel lead: Sam out, Henrietta in
owner | is | Priya | Inbox3 | Inbox3 is run by Priya now
budget | is | 20,000 euros | Project Kestrel | Project Kestrel budget up to 20,000 euros
budget | is | 5,000 pounds | the newsletter | 5,000 pounds for the newsletter, that's the budget
version | is | 2.4 | Inbox3 | Inbox3 now on version 2.4
version | is | 2.4<2.3 | Inbox3 | Inbox3 version 2.3 -> 2.4
price | is | 12 euros | Inbox3 | Inbox3: price 12 euros
status | is | on hold | Project Kestrel | Project Kestrel status: on hold
launch_date | is | 3 June | Inbox3 | Inbox3 goes live 3 June
language | is | Spanish | | languages: Spanish
language | is | Polish | | Polish is one I speak
language | is | Polish | Sam | Sam's fluent in Polish too, it's one of his languages
language | not | Polish | | my Polish is gone
learning | is | Korean | | taking Korean classes
allergy | is | peanuts | | allergies: peanuts
allergy | is | peanuts | | no peanuts for me, allergic
allergy | is | sesame | Priya | Priya - sesame allergy
allergy | not | kiwi | | over my kiwi allergy
hobby | is | pottery | | new hobby: pottery
hobby | is | beekeeping | | beekeeping is my thing now
hobby | is | chess | my uncle | my uncle's pastime is chess
hobby | not | pottery | | pottery's over for me
instrument | is | cello | | playing the cello these days
instrument | is | cello<piano | | dropped the piano for the cello
sport | is | padel | | sport: padel
sport | is | padel<tennis | | tennis out, padel in
pet | is | Biscuit | | our dog's name: Biscuit
pet | is | Biscuit | | dog = Biscuit
friend | is | Henrietta | | bff: Henrietta
sibling | is | Henrietta | | sister: Henrietta
medication | is | 20 mg citalopram | | meds: 20 mg citalopram
medication | is | metformin | Sam | Sam takes metformin these days, doctor's orders
condition | is | asthma | | condition: asthma
blood_type | is | O negative | | blood type O negative
blood_type | is | O negative | my sister | my sister: blood group O negative
height | is | 182 cm | | height 182 cm
weight | is | 74 kg | | weight now 74 kg
weight | is | 74 kg<80 kg | | down from 80 kg to 74 kg
age | is | 34 | | age: 34
shoe_size | is | 42 | | shoes: size 42
shirt_size | is | M | | shirt size M
school | is | Oslo University | | uni: Oslo University
major | is | biology<physics | | major changed, physics to biology
major | is | biology | | biology major
hometown | is | Ghent | | hometown: Ghent
hometown | is | Ghent | | grew up over in Ghent
nationality | is | Portuguese | | nationality: Portuguese
nationality | is | Portuguese | Priya | Priya, Portuguese by nationality
marital_status | is | engaged | | engaged now!
marital_status | is | divorced | | relationship status: divorced
religion | is | Buddhist | | religion: Buddhist
nickname | is | Harry | Henrietta | Henrietta, better known as Harry
name | is | Sam Lee | | name's Sam Lee
pronouns | is | they/them | | pronouns: they/them
pronouns | is | she/her | Priya | Priya goes by she/her
emergency_contact | is | Priya | | emergency contact: Priya
roommate | is | Sam | | sharing a flat with Sam now
therapist | is | Dr Moreau | | therapist: Dr Moreau
coach | is | Sam | | training with coach Sam
vet | is | Dr Ivanova | | the cat's vet: Dr Ivanova
username | is | harry_t | | username harry_t
working_hours | is | 9 to 5 | | working hours: 9 to 5
programming_language | is | Rust<Go | | Go -> Rust, main programming language
favourite_film | is | Alien | | all-time favourite film: "Alien"
favourite_book | is | Emma | | fave book - Emma
favourite_music | is | Radiohead | | favourite band: Radiohead
favourite_season | is | autumn | | autumn is my favourite season, hands down
favourite_drink | is | oat latte | | usual drink, my favourite: oat latte
favourite_place | is | Café Lumen | | favourite café: Café Lumen
open:locker code | is | 4711 | | locker code 4711
open:locker code | is | 4711 | | locker code -> 4711
open:locker code | is | 4711<1234 | | locker code 1234 -> 4711
open:locker code | is | 4711 | Sam | Sam's locker code = 4711
open:locker code | is | 4711 | | 4711 opens my locker, that's the locker code
open:badge number | is | B-99 | | badge number, updated: B-99
open:parking spot | is | P14 | | parking spot: P14
open:parking spot | is | P14<P12 | | parking spot moved, P12 to P14
open:desk number | is | 4C | my brother | my brother – desk number 4C
open:alarm time | is | 6:45 | | alarm time now 6:45
open:lunch place | is | Noodle Yard | | lunch place of choice: Noodle Yard
open:lunch place | is | Bao House<Noodle Yard | | lunch place: Noodle Yard out, Bao House in
open:bus line | is | 42 | | bus line: 42
open:ticket number | is | KX-1203 | | KX-1203 = ticket number
open:seat number | is | 14A | | seat number's 14A
open:star sign | is | Leo | | star sign: Leo
open:coffee order | is | flat white | | my coffee order has to be flat white
open:membership number | is | 88-1203 | Priya | Priya (membership number 88-1203)
open:passport number | not | K1203 | | passport number K1203 has expired
open:locker code | is | 4711 | | file 4711 under my locker code
open:locker code | is | 4711 | | you can put down 4711 where it says my locker code
open:gate code | is | 9081 | | remember 9081, that's the gate code of ours
"""

NOT_SAID = """
what's your phone number?
I wish I lived in Lisbon
in Berlin for the weekend
Berlin was lovely last week
now at the airport
new phone, who dis
home sweet home
home is where the heart is
I feel at home in Lisbon already
if I moved to Oslo I'd need a new number
should I change my email?
thinking of a new gym
looking for a new job in Berlin
my boss was great about it
the doctor said to rest
my sister loved the green one
Priya and Sam are in town
Sam is at the door
Priya is in a meeting
on my way to Acme
met Henrietta at the gym
went from bad to worse
A -> B is not always the shortest way
pizza out, salad in, that was the joke
traded jokes with Sam
swapped seats with Priya
dropped my phone
dropped Sam off at school
moved my meeting to 3 May
switched off the lights
switched sides
call me when you can
call me Monday
call me crazy
text me later
phone died
number one fan!
my number is up
no longer hungry
not in Berlin today, sorry
not vegan, but it was tasty
vegan food is great
went for vegan pizza
a vegan friend came over
my friend is vegan
his name escapes me
name: the hardest part of a band
colour me impressed
green with envy
feeling blue these days
blue these days
I prefer not to say
my favourite part was the end
favourite day ever!
my favourite season of the show is out
best food ever
food was cold
the food at Noodle Yard is great
lunch at Noodle Yard was fun
dinner with Sam at Bao House
coffee with Henrietta?
car broke down in Ghent
a Volvo hit our fence
someone parked a Fiat Panda outside
nice Volvo!
saw a Honda Jazz for 5,000 pounds
our flight is BA 203
flight number BA 203 was late
meeting room B12 is cold
the password is wrong
password reset
wifi is down
wifi at Café Lumen is bad
gym was packed
gym at 6 tomorrow
gym with Sam tonight
job done
good job Sam
great job on the newsletter!
work was crazy these days
work in progress
working in the garden
working from home today
at work until 6
at home with Sam
Sam's home
I'm home
school is out
school starts 3 May
the deadline is killing me
deadline?
version control is hard
Inbox3 is great
Project Kestrel is fun
Project Kestrel kicked off in Berlin
the newsletter went out on 3 May
price is right
at any price
my two cents
budget meeting on 3 May
party at 14 Alder Lane
accident on Mill Road
there is a bakery at 3 Mill Road
Sam was born to run
born to be wild
Happy birthday Sam!
Sam's birthday party was a blast
birthday cake
12 July was hot
see you 12 July
3 May works for me
Dr Okafor called
Dr Okafor is on TV
the doctor is in
Spanish food is great
Spanish class was fun
a Polish friend of mine
the French open starts
learned a lot
played tennis with Sam
tennis on TV
tennis?
the piano needs tuning
playing with fire
playing in Berlin tonight
single malt
single ticket to Oslo
engaged in a fight
married life, eh
peanuts are cheap
peanuts!
allergic to mornings
allergic to Mondays, lol
no peanuts left
dog ate my homework
dog tired
cat nap
Biscuit ate a biscuit
sister act was on
bank holiday in Oslo
bank robbery in Ghent
the bank was closed
rent is due
rent is too high
rents went from 900 to 950 euros in Berlin
age is just a number
weight off my mind
size matters
shoes are 42 euros
my shoes are wet
42 is the answer
4711 is a perfume
code review at 3
code red
status quo
update: nothing new
update: still waiting
fyi the shop closes at 5
btw Sam says hi
heads up, rain tomorrow
note to self: buy milk
note to self: be nice
reminder: call Priya
reminder: pay rent
todo: renew passport
list: eggs, milk, bread
ingredients: flour, salt
time: 3 pm
place: the park
date: 3 May
question: is Berlin nice?
P.S. I love you
Sam told me Priya moved to Oslo
they say Lisbon is home to many
I used to think Berlin was boring
imagine a gym in Berlin
suppose my email was sam@post.example
let's say I live in Oslo
pretend you are Sam
would love a Volvo V60
want a new phone number
need a new doctor
hoping for a new boss
thank you Dr Okafor
Sam, your number?
who is Henrietta?
Acme is hiring
Acme called me back
interview at Acme on 3 May
Acme went from 900 to 950 people
read Emma again
watched "Alien" last night
saw Radiohead in Ghent
listening to Radiohead these days
reading Emma at the moment
Chrome crashed again
Firefox is fast
Vim is hard to quit
Rust is eating my car
Leo came by
in Rome do as the Romans do
in March we go to Rome
out of office until 3 May
out of milk
back in Berlin!
back at Acme's office for a meeting
these days everybody is vegan
these days are long
now that is a car
now in colour
now or never
"""
