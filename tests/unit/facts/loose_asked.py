"""Questions in the words of notes, chats and voices; `slot | mode | subject | text`."""

ASKED = """
phone_number | now | | remind me of my number
phone_number | now | | need my phone number
phone_number | now | | my cell again?
phone_number | now | | which number do people get me on?
phone_number | now | Priya | got Priya's digits?
phone_number | now | Priya | how would I ring Priya
phone_number | now | my sister | sister's mobile, please?
phone_number | now | | pull up my phone number please
phone_number | previous | | my number before this one?
phone_number | previous | | the phone number I had before
phone_number | history | | every phone number I've gone through
phone_number | history | | run me through my phone numbers
phone_number | history | | timeline of my phone number please
phone_number | when | | when'd I get my new number
phone_number | when | | date of my last phone number change?
email | now | | which inbox is mine these days
email | now | | what's the email I use
email | now | Sam | where do mails for Sam go
email | previous | | what email did I use earlier
email | history | | walk me through my email addresses
address | now | | where do parcels for me go
address | now | | mailing address on file for me?
address | now | Priya | where's Priya's place
address | previous | | the address I had before this
address | history | | trace my addresses
home | now | | where's home for me these days
home | now | | what city do I call home
home | now | | which town am I in now
home | now | Priya | where does Priya hang her hat these days
home | now | Priya | Priya's city, please?
home | now | my sister | whereabouts does my sister live
home | then | | where was home for me back then
home | previous | | where was I living before this
home | previous | | where did I move here from
home | history | | retrace the places I've called home
home | history | | all the cities I have called home
home | when | | when did Lisbon become my home
employer | now | | who do I work for again
employer | now | | who signs my paychecks
employer | now | | who pays my salary
employer | now | | name of the company I'm at?
employer | now | Sam | what firm is Sam with these days
employer | now | my brother | my brother's workplace?
employer | previous | | who was my employer before that
employer | previous | | where was I working before
employer | history | | what firms have I been with
employer | history | | my employers, oldest to newest
employer | when | | how long at Bluepeak for me now
job | now | | my line of work?
job | now | Priya | what's Priya's day job
job | now | | what do I do for a living these days
job | previous | | what was my last job
boss | now | | who's in charge of me at work
boss | now | | who am I reporting to
boss | now | Priya | who manages Priya these days
boss | previous | | who did I have as a boss earlier
boss | history | | list my bosses in order
birthday | now | | what day is my birthday on
birthday | now | Sam | when's Sam's bday
birthday | now | my mother | my mother's b-day?
diet | now | | how do I eat these days
diet | now | | what am I, diet-wise
diet | now | Priya | is there a diet Priya follows
diet | previous | | my diet before the current one
diet | history | | how have my eating habits changed
partner | now | | who am I seeing these days
partner | now | Priya | who is Priya with now
partner | previous | | who was I dating before
favourite_colour | now | | which colour am I fondest of
favourite_colour | now | | my fave color again?
favourite_colour | now | Priya | Priya's go-to colour?
favourite_colour | history | | how did my taste in colours change
favourite_food | now | | what dish do I like most
favourite_food | now | my brother | my brother's fav food?
wifi_password | now | | what do I type in for my wifi
wifi_password | now | | wifi password please
wifi_password | now | | wifi pw?
wifi_password | previous | | old wifi password?
gym | now | | where do I lift these days
gym | now | | gym I'm signed up at?
gym | now | Sam | where does Sam go for workouts
gym | previous | | the gym I went to before
car | now | | what am I driving these days
car | now | | what's my ride now
car | now | my mother | what does my mother drive around in
car | previous | | the car I had before this one
car | history | | cars I've owned so far
doctor | now | | who do I see when I'm ill
doctor | now | | name of my GP?
doctor | previous | | who was my GP earlier
dentist | now | | who looks after my teeth
time_zone | now | | which timezone should I be in
time_zone | now | Sam | what's Sam's timezone these days
editor | now | | what do I code in
editor | now | | editor of choice for me?
editor | previous | | the editor I used before
browser | now | | which browser am I on
computer | now | | what laptop have I got
bank | now | | who's my bank with these days
bank | now | | where do I keep my money
insurer | now | | who insures me
mobile_provider | now | | which carrier am I with
landlord | now | | to whom do I pay rent
rent | now | | what's the rent I pay
rent | history | | how has my rent developed
salary | now | | what do I make a year
salary | now | | how much am I on
deadline | now | Project Kestrel | Project Kestrel deadline?
deadline | now | Project Kestrel | by when must Project Kestrel be done
deadline | now | the newsletter | when's the newsletter due
deadline | history | Project Kestrel | how often did the deadline of Project Kestrel move
deadline | previous | Project Kestrel | what was the original deadline of Project Kestrel before it moved
location | now | the weekly review | where's the weekly review held
location | now | the weekly review | what room for the weekly review
owner | now | Project Kestrel | who's heading Project Kestrel
owner | now | Inbox3 | who is responsible for Inbox3
budget | now | Project Kestrel | what can we spend on Project Kestrel
budget | now | Project Kestrel | how big is the budget of Project Kestrel
version | now | Inbox3 | which version is Inbox3 on
price | now | Inbox3 | what does Inbox3 go for
language | now | | what tongues do I speak
language | now | Sam | languages Sam knows?
learning | now | | which language am I learning
allergy | now | | what must I not eat, allergies I mean
allergy | now | Priya | any allergies for Priya?
allergy | now | | my allergies again please
hobby | now | | what are my pastimes
hobby | now | my uncle | what does my uncle do for fun
instrument | now | | what instrument do I play these days
sport | now | | which sport am I into
pet | now | | our dog's name again?
pet | now | Sam | what's Sam's cat called
friend | now | | who's my bff
sibling | now | | my siblings' names?
medication | now | | what meds am I on
medication | now | Sam | which pills does Sam take
condition | now | | which medical conditions do I have
blood_type | now | | my blood group please
height | now | | how tall is it that I am
weight | now | | what do I weigh these days
age | now | Priya | Priya's age now?
shoe_size | now | | shoe size of mine?
shirt_size | now | | what size shirt do I take
school | now | | which uni am I at
major | now | Sam | what's Sam majoring in
hometown | now | | where am I from originally
hometown | now | Priya | where did Priya grow up
nationality | now | | what passport do I hold
marital_status | now | | am I single or married these days
religion | now | | what faith do I follow
nickname | now | Henrietta | what do people call Henrietta
name | now | | my full name please
pronouns | now | Priya | which pronouns does Priya use
emergency_contact | now | | who's down as my emergency contact
roommate | now | | who do I share the flat with
therapist | now | | who's my therapist at the moment
username | now | | which handle do I go by
working_hours | now | | what are the hours I work
programming_language | now | | programming language I use most?
favourite_film | now | | what film do I like best
favourite_book | now | | book I like best?
favourite_music | now | Sam | Sam's favourite band again?
open:locker code | now | | locker code please
open:locker code | now | | need my locker code
open:locker code | now | | got my locker code?
open:locker code | now | | code for my locker?
open:locker code | previous | | which locker code did I have before
open:locker code | history | | every locker code I've had
open:locker code | when | | when did 4711 become my locker code
open:locker code | now | Sam | what's on file as Sam's locker code
open:badge number | now | | badge number of mine?
open:badge number | now | | what does it say under my badge number
open:badge number | history | | how did my badge number evolve
open:parking spot | now | | which parking spot is mine
open:parking spot | now | | where's my parking spot again
open:desk number | now | my brother | my brother's desk number now
open:desk number | previous | | desk number I had earlier
open:alarm time | now | | what's the alarm time I use
open:lunch place | now | | which lunch place do I go to now
open:lunch place | history | | lunch places I have had, in order
open:lunch place | previous | | where was my lunch place before
open:seat number | now | | seat number, mine?
open:coffee order | now | Priya | what is the coffee order of Priya
open:membership number | now | Priya | look up the membership number Priya has
open:gate code | now | | the gate code we have now
open:gate code | when | | since when is the gate code 9081
"""

NOT_ASKED = """
what should I do about my phone?
how do I change my email?
can you call my sister?
should I move to Lisbon?
is Berlin a nice place to live
what did my boss say about the budget
what happened at my gym
why did I leave Acme
how was my birthday party
what did Sam get me for my birthday
who came to my party
when did I last go to the gym
when did I last see my doctor
what did my doctor say
where did my sister go on holiday
what car should I buy
which gym is the best
which phone is best for my mother
how do I fix my car
how can I cancel my gym membership
how do I learn a language
what do I need for my trip
recommend a book like my favourite
what's the best way to my office
what is the weather in my city
what time is it in my city
what's on in my town
tell me about my sister
what does my sister think of my job
what did Priya say about her job
did Priya like my car
how far is my gym from home
how much is a new laptop
write an email to my boss
draft a letter to my landlord
translate my job title
remind me to call my doctor
remind me to pay my rent
find a gym near my home
need a new job
need a new phone number
got a new car?
plan my birthday
what to wear to my job interview
what did I eat for lunch
what did we talk about at the gym
who drives me to work
who gave me my watch
how did my interview at Acme go
what happened to my dog
what does my dog eat
what is my dog afraid of
when is my dog's vet appointment
why is my wifi slow
how do I reset my wifi password
how strong is my wifi password
is my password safe
can I change my username
was my address ever leaked
what are the pros and cons of my diet
what can I cook for my diet
what did my therapist suggest
what is the capital of my country
what are good hobbies for my uncle
"""
