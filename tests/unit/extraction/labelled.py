# ruff: noqa: E501 - a row is a line
"""Sentences with the names and relations they state, written for this test. `A` is the actor where one is given.

`text | names | relations`: names separated by ";", relations as "subject>predicate>object".
"""

from __future__ import annotations

ROWS = r"""
Priya reports to Sam Ortiz. | Priya; Sam Ortiz | Priya>reports_to>Sam Ortiz
Tom Becker reports directly to Ana. | Tom Becker; Ana | Tom Becker>reports_to>Ana
I report to Priya. | Priya | A>reports_to>Priya
My manager is Priya Raman. | Priya Raman | Priya Raman>manager_of>A
My boss Oksana signed off on it. | Oksana | Oksana>manager_of>A
Priya is Sam's manager. | Priya; Sam | Priya>manager_of>Sam
Priya manages Sam and Ana. | Priya; Sam; Ana | Priya>manager_of>Sam; Priya>manager_of>Ana
Sam's manager Priya approved the budget. | Sam; Priya | Priya>manager_of>Sam
Dana works at Initech. | Dana; Initech | Dana>works_at>Initech
Dana Kowalski works for Globex Corp in Berlin. | Dana Kowalski; Globex Corp; Berlin | Dana Kowalski>works_at>Globex Corp
I work at Hooli. | Hooli | A>works_at>Hooli
I'm working on Inbox3 with Tom. | Inbox3; Tom | A>works_on>Inbox3
Yusuf works on Project Kestrel. | Yusuf; Project Kestrel | Yusuf>works_on>Project Kestrel
Mira leads Project Halcyon. | Mira; Project Halcyon | Mira>leads>Project Halcyon
Leila owns the Kestrel rollout plan. | Leila; Kestrel |
Leila owns Kestrel. | Leila; Kestrel | Leila>owns>Kestrel
The Payments team owns LedgerSync. | Payments team; LedgerSync | Payments team>owns>LedgerSync
Kestrel depends on Inbox3. | Kestrel; Inbox3 | Kestrel>depends_on>Inbox3
Inbox3 depends on OAuth2 and LedgerSync. | Inbox3; OAuth2; LedgerSync | Inbox3>depends_on>OAuth2; Inbox3>depends_on>LedgerSync
Noor is on the Platform team. | Noor; Platform team | Noor>member_of>Platform team
Noor is a member of the Search team now. | Noor; Search team | Noor>member_of>Search team
Noor joined the Growth team in March. | Noor; Growth team | Noor>member_of>Growth team
Tom is married to Ingrid. | Tom; Ingrid | Tom>married_to>Ingrid
My wife Ingrid loves the sea. | Ingrid | A>married_to>Ingrid
Bo lives in Lisbon. | Bo; Lisbon | Bo>lives_in>Lisbon
I live in Rotterdam. | Rotterdam | A>lives_in>Rotterdam
Tom recommended Trattoria Nonna for the dinner. | Tom; Trattoria Nonna | Tom>recommended>Trattoria Nonna
Priya, who reports to Sam, is away. | Priya; Sam | Priya>reports_to>Sam
Priya and Tom report to Ana. | Priya; Tom; Ana | Priya>reports_to>Ana; Tom>reports_to>Ana
I think the review is fine, and Yusuf works on Kestrel. | Yusuf; Kestrel |
Mark works at Initech. | Mark; Initech | Mark>works_at>Initech
Grace leads Kestrel. | Grace; Kestrel | Grace>leads>Kestrel
Dana works at Apple. | Dana; Apple | Dana>works_at>Apple
My sister Freya is visiting. | Freya | A>sibling_of>Freya
Anders is Freya's brother. | Anders; Freya | Anders>sibling_of>Freya
Freya founded Quillmark in 2019. | Freya; Quillmark | Freya>founded>Quillmark
Oksana is the owner of LedgerSync. | Oksana; LedgerSync | Oksana>owns>LedgerSync
Oksana is leading Project Halcyon. | Oksana; Project Halcyon | Oksana>leads>Project Halcyon
Priya currently works on Inbox3, not Kestrel. | Priya; Inbox3; Kestrel | Priya>works_on>Inbox3
Dr. Weiss works at Charite Hospital. | Weiss; Charite Hospital | Weiss>works_at>Charite Hospital
Priya manages Tom and Ana leads Kestrel. | Priya; Tom; Ana; Kestrel | Priya>manager_of>Tom; Ana>leads>Kestrel
Priya does not report to Sam. | Sam |
Priya doesn't work at Initech. | Initech |
Priya no longer works at Initech. | Initech |
Priya never works on Kestrel. | Kestrel |
Should Priya report to Sam? | Priya; Sam |
Does Tom work at Initech? | Tom; Initech |
Priya reports to Sam, right? | Priya; Sam |
If Priya reports to Sam, the chart is wrong. | Priya; Sam |
Unless Tom leads Kestrel we are stuck. | Tom; Kestrel |
Maybe Priya reports to Sam. | Priya; Sam |
I think Priya works at Initech. | Priya; Initech |
It is not true that Priya leads Kestrel. | Priya; Kestrel |
Nobody said that Priya owns Kestrel. | Priya; Kestrel |
We want a world in which Kestrel depends on nothing. | Kestrel |
Priya used to report to Sam. | Sam |
Priya will report to Sam next month. | Sam |
The sister of Priya works at Initech. | Priya; Initech |
A friend of Tom lives in Lisbon. | Tom; Lisbon |
Priya reports to Sam's boss. | Priya; Sam |
Someone who reports to Priya called. | Priya |
Everyone reports to Priya. | Priya |
Priya works on Mondays. | |
Priya manages to stay calm. | Priya |
Tom leads a quiet life. | |
He works at Initech. | Initech |
Marketing reports to Priya. | Priya |
Priya reports to Sam or Ana. | Sam; Ana; Priya |
Sam worked at Initech until 2019. | Initech |
Imagine Tom works at Globex. | Tom; Globex |
They suggested that Tom leads Kestrel. | Tom; Kestrel |
Yesterday Priya met Tom at Starbucks. | Priya; Tom; Starbucks |
Hey Henrietta! Thanks for the flowers. | Henrietta |
Thanks Henrietta, see you soon. | Henrietta |
We moved the launch of Halcyon to Friday. | Halcyon |
Please file ABC-123 and close #4521. | ABC-123; #4521 |
Mail tom.becker@example.com about the contract. | tom.becker@example.com |
Acme Inc signed the contract on Tuesday. | Acme Inc |
We bought it from Nordwind GmbH. | Nordwind GmbH |
Ms. Okafor asked for the invoice. | Okafor |
Prof. Lindqvist teaches on Thursdays. | Lindqvist |
The invoice went to Mr. Brown last week. | Brown |
We use PostgreSQL and GitHub at work. | PostgreSQL; GitHub |
The new iPhone is too big for me. | iPhone |
I asked Will about the keys. | Will |
I had lunch with Grace and her dog. | Grace |
She flew to San Francisco and then to Oslo. | San Francisco; Oslo |
New York is loud in summer. | New York |
He studied at the University of Bath. | University of Bath |
The trail ends at Lake Tahoe. | Lake Tahoe |
The painting is by Leonardo da Vinci. | Leonardo da Vinci |
He reads J.R.R. Tolkien every winter. | J.R.R. Tolkien |
We watched it with the O'Brien family. | O'Brien |
I met Jean-Luc at the station. | Jean-Luc |
The project Kestrel is late. | project Kestrel |
Priya Raman came late. Priya was tired. | Priya Raman |
We saw Zelda; Zelda was sleeping. | Zelda |
They hired Müller and Søren. | Müller; Søren |
The backup runs on Inbox3 every night. | Inbox3 |
I bought a book by Haruki Murakami. | Haruki Murakami |
Kestrel's launch slipped by a week. | Kestrel |
Have you met Ananya yet? | Ananya |
The Globex deal closed yesterday. | Globex |
My colleague Rafael fixed the pipeline. | Rafael |
We agreed with Nordwind on the price. | Nordwind |
Happy Birthday Ingrid! | Ingrid |
I love the beach in Florida. | Florida |
On Monday the team met in Berlin. | Berlin |
He speaks Spanish and some Japanese. | |
We celebrate Christmas and Hanukkah. | |
The German customers were happy. | |
See you on Wednesday in June. | |
WOW this is SO COOL and I LOVE IT | |
PLEASE READ THE RELEASE NOTES BEFORE MERGING | |
# Quarterly Planning For Kestrel | |
Quarterly Planning And Release Notes | |
Yay! Congrats! That is amazing. | |
Hmm, I am not sure. Okay then. | |
Photography is my favourite hobby. | |
Gardening went well. Tomatoes grew fast. | |
Meditation takes time. | |
Fully agreed, let us do that. | |
Thoughts? Ideas? Objections? | |
Definitely! Absolutely! | |
The API returned a JSON error in Q3. | |
The CEO and the CTO met HR. | |
It was a COVID-19 test, encoded in UTF-8. | |
I ate Greek Yogurt and a Caesar salad. | Caesar |
Project Management is hard. | |
The German team lost. | |
See https://example.com/Kestrel/Priya for details. | |
Run `Kestrel.start(Priya)` and wait. | |
Ich habe den Termin mit den Kollegen in der Stadt verschoben, weil Peter krank ist. | |
Wir haben die Rechnung an den Kunden geschickt und die Lieferung geplant. | |
Will it rain? May I go? Mark the date. | |
Hope this helps. Grant me access. | |
I told Mom and Dad about it. | |
God, I miss Grandma. | |
I'm so Happy today! | |
Mondays are hard. Sundays are slow. | |
Black Friday is near, then New Year's Eve. | |
Hahaha, sooo funny, lol. | |
You can't. They'll wait. We've tried. Let's go. | |
To Do: buy milk. Note: eggs too. | |
- Buy milk\n- Call the plumber\n- Fix the sink | |
We need an MVP and an SLA by EOD. | |
"Great," he said. "Perfect timing." | |
The Internet was down on Earth Day. | |
""".strip().split("\n")

# Written after the first version of the rules, which had .93 of names and .93 of relations right here. Rules were then
# corrected by it, and two labels of names, so it is no longer unseen text.
LATER = r"""
Standup notes: Henrik fixed the login bug, Amara is still blocked by legal. | Henrik; Amara |
Remember that Chiara works for Borealis Ltd, based in Turin. | Chiara; Borealis Ltd; Turin | Chiara>works_at>Borealis Ltd
Per Henrik, Amara leads the Atlas migration. | Henrik; Amara; Atlas |
Amara told me that Henrik reports to Chiara. | Amara; Henrik; Chiara | Henrik>reports_to>Chiara
User prefers dark mode and lives in Ghent. | Ghent |
The user lives in Ghent. | Ghent |
Deploys to Heroku failed twice on Sunday. | Heroku |
Decision: we go with Terraform instead of Pulumi. | Terraform; Pulumi |
Kenji's boss is Amara. | Kenji; Amara | Amara>manager_of>Kenji
Kenji is not Amara's boss. | Kenji; Amara |
Kenji was Amara's boss at Initech. | Kenji; Amara; Initech |
My brother Kofi works at Siemens in Munich. | Kofi; Siemens; Munich | A>sibling_of>Kofi; Kofi>works_at>Siemens
I don't work at Siemens anymore. | Siemens |
I wish I worked at Siemens. | Siemens |
My husband, Kofi, cooks well. | Kofi | A>married_to>Kofi
Lunch with Kofi at Noma was great. | Kofi; Noma |
Atlas is blocked by Inbox3 and the Data team. | Inbox3; Data team |
The Atlas dashboard depends on Grafana. | Atlas; Grafana |
Atlas depends on Grafana and the new API. | Atlas; Grafana | Atlas>depends_on>Grafana
Atlas depends on whether Kofi has time. | Atlas; Kofi |
Who owns Atlas? | Atlas |
Kofi owns a boat. | Kofi |
Kofi owns two cats named Miso and Tofu. | Kofi; Miso; Tofu |
Kofi lives in a small flat. | Kofi |
Kofi lives in Accra with Esi. | Kofi; Accra; Esi | Kofi>lives_in>Accra
Esi works on Atlas, Kestrel and Halcyon. | Esi; Atlas; Kestrel; Halcyon | Esi>works_on>Atlas; Esi>works_on>Kestrel; Esi>works_on>Halcyon
Esi, Kofi and Amara work on Atlas. | Esi; Kofi; Amara; Atlas | Esi>works_on>Atlas; Kofi>works_on>Atlas; Amara>works_on>Atlas
Esi recommended that Kofi leads Atlas. | Esi; Kofi; Atlas |
Esi recommended the book to me. | Esi |
Esi is married to her work. | |
Esi is on the train. | |
Esi is part of the Design team at Figma. | Esi; Design team; Figma | Esi>member_of>Design team
Both Esi and Kofi report to Amara. | Esi; Kofi; Amara |
Rumor has it Esi reports to Kofi. | Esi; Kofi |
According to HR, Esi reports to Kofi. | Esi; Kofi | Esi>reports_to>Kofi
As of March Esi reports to Kofi. | Esi; Kofi | Esi>reports_to>Kofi
Great news! Promotion approved. Raise confirmed. | |
Refactored the parser. Renamed Foo to Bar. | |
Bought groceries: Oat milk, Bananas, Bread. | |
Favorite movies: Inception, Arrival, Heat. | Inception; Arrival |
Feeling tired today. Slept badly. | |
Dinner reservations at Osteria Francescana for six. | Osteria Francescana |
Flight LH123 leaves from Frankfurt. | Frankfurt |
Upgrade Django from version 4 to 5. | Django |
The doctor prescribed Ibuprofen. | |
She plays the Violin and the Cello. | |
He is a Senior Software Engineer. | |
I have ADHD and my GP is nice. | |
Ping @kofi on Slack in #general. | Slack |
Let me know ASAP, Kofi. | Kofi |
Kofi! Kofi! Wake up! | Kofi |
Allergies: peanuts, shellfish. Blood type: O. | |
Password is Hunter2. | Hunter2 |
We're at Terminal 5, Gate B12. | |
Vacation in the Alps with Dr. Amara Boateng. | Alps; Amara Boateng |
Meeting with Vice President Okoro on Tuesday. | Okoro |
TODO: Ask Esi about JIRA-77. | Esi; JIRA-77 |
Question for Esi: does Atlas depend on Grafana | Esi; Atlas; Grafana |
Sent the deck to Borealis; waiting on Chiara. | Borealis; Chiara |
Hamburgers were tasty. Veggies too. | |
""".strip().split("\n")


def labelled(lines: list[str]) -> list[tuple[str, set[str], set[tuple[str, str, str]]]]:
    """The rows as `(text, names, relations)`."""
    rows = []
    for row in lines:
        text, names, relations = (part.strip() for part in row.split("|"))
        triples = {tuple(p.strip() for p in r.split(">")) for r in relations.split(";") if r.strip()}
        rows.append((text.replace("\\n", "\n"), {n.strip() for n in names.split(";") if n.strip()}, triples))
    return rows
