"""Word lists for `identifiers.py`: words that look like an identifier and are none, and words that reveal one."""

from __future__ import annotations

from recall_integrations.query.glance import word_set

# Case-folded. Brands, products and units that are written like code, and are ordinary words of a conversation.
NO_CODE = word_set(
    """
    adblock airbnb airdrop airplay airpods airtable alphago applecare appstore auth0 bigquery bitbucket bittorrent
    blackberry blackrock bluesky bsc bytedance carplay chatgpt chromebook circleci clickup cloudflare codepen
    coinbase couchdb couchsurfing crossfit datadog deepl deeplearning deepmind deepseek devops devsecops directx
    dockerhub docusign doordash dphil dropbox duckduckgo dynamodb facebook facetime fedex flixbus gbps ghz github
    gitlab gitops godaddy googlemaps grubhub hellofresh homepod hubspot hulu icloud imessage imovie indiegogo
    instagram intellij ipados iphone iphones itunes javafx javascript jetblue jetbrains jquery justgiving kbps khz
    kickstarter kitchenaid kpa kwh langchain langgraph lastpass latex leetcode linkedin llamaindex macbook macbooks
    macos mah mailchimp mapquest mariadb mastercard mba mbps mcdonalds metoo mhz mlops mongodb msc myspace mysql
    netflix newsletter nosql numpy nvidia officemax onedrive onenote onlyfans onstar openai opengl openid openssh
    openssl openstack opentable openvpn pagerduty papajohns paypal petsmart phd photoshop playdate playstore
    playstation podcast pokemongo postgresql powerbi powerpoint powerpoints powershell pycharm pytorch quickbooks
    quicktime raspberrypi rubymine runkeeper salesforce scipy sharepoint shopify singlestore slideshare smartthings
    snapchat soundcloud spacex sqlalchemy sqlite squarespace stackoverflow steamdeck strava stubhub surveymonkey
    swiftui swisscom taskrabbit teamspeak teamviewer techcrunch tensorflow thinkpad tiktok tiktoks tmobile
    transferwise tripadvisor truecrypt turbotax turkishairlines tvos typescript ubereats unitedhealth usaid vmware
    vscode watchos webassembly webex webgl webrtc wechat weightwatchers wework whatsapp wifi wikihow windsurf
    wordpress xbox xcode yolo youporn youtube youtuber youtubers zdnet zoominfo asp.net backbone.js booking.com
    chart.js d3.js draw.io ember.js express.js hotels.com ml.net monday.com next.js node.js nuxt.js p5.js react.js
    socket.io solid.js three.js vb.net vue.js a/b ac/dc and/or b/w c/o he/she i/o n/a p/e tcp/ip w/o
    """
)

# Last part of a name in camel case that is code ("UserService") and not a brand ("WestJet").
CODE_NOUNS = tuple(
    """
    Action Adapter Args Array Base Buffer Builder Button Cache Callback Client Component Config Connection Context
    Controller Decoder Driver Encoder Engine Error Event Exception Exporter Factory Filter Frame Generator Handler
    Helper Hook ID IDs Id Impl Index Interface Iterator Job Key List Listener Loader Logger Manager Map Mapper
    Middleware Mixin Model Module Node Optimizer Options Params Parser Plugin Pool Provider Proxy Query Queue Reader
    Record Reducer Repository Request Response Result Retriever Router Scheduler Schema Serializer Server Service
    Session Set Settings Socket Spec State Store Stream String Task Test Tests Thread Token Tree Type URI URL Util
    Utils Validator View Warning Worker Wrapper Writer
    """.split()
)

# First part of a family or given name with a capital inside: McCarthy, DeShawn, LeBlanc, MacDonald, JoAnn.
NAME_PREFIXES = word_set(
    "Mc Mac De Del Des Di Da Du D La Le Las Los Van Von Vander Ver Ten O Fitz Saint St El Al Ben Bin San Ap Mary Anne "
    "Ann Jo Ja Je Ka Ke La Sha Ray Tra Mar"
)

# Before "-123": standards, models, products, quarters, months, roads. "GPT-4" and "COVID-19" are words.
NO_TICKETS = word_set(
    """
    AES AK APOLLO APR AR ASCII AUG BASE BOEING CATCH CF CO COP COVID DC DEC DES DVD EN EURO FEB FLIGHT FORMULA FRI
    FY GPT GROUP HTTP IE IEC IEEE IPV ISO JAN JUL JUN LEVEL LTE MAR MAY MD MI MIG MON MP NOV NR NUMBER OCT PHASE
    PLAYSTATION PM PS RJ ROUND RSA SALT SARS SAT SEP SEPT SHA STAGE STEP SU SUN THU TIER TOP TUE TYPE UH UN US USB
    UTC UTF VITAMIN WED WEEK WW GMT ROUTE HWY EXIT GATE ROOM SUITE UNIT APT BLOCK PAGE Q1 Q2 Q3 Q4 H1 H2
    """
)

# Error codes that are letters and a number, without and with a dash that must be there.
CODE_PREFIXES = ("E", "TS", "CS", "KB", "LNK", "MSB", "NU", "NETSDK", "PLC", "PLE", "PLR", "PLW", "RUF", "SQLSTATE")
DASHED_PREFIXES = ("ORA", "PLS", "TNS", "RMAN", "SQL", "SP2", "IMP", "EXP", "LPX", "AADSTS")

# Names of the POSIX and Node.js errors that begin with an E.
ERRNO = word_set(
    """
    EACCES EADDRINUSE EADDRNOTAVAIL EAGAIN EAI_AGAIN EALREADY EBADF EBUSY ECANCELED ECHILD ECONNABORTED ECONNREFUSED
    ECONNRESET EDEADLK EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR
    ELOOP EMFILE EMLINK EMSGSIZE ENAMETOOLONG ENETDOWN ENETUNREACH ENFILE ENOBUFS ENODEV ENOENT ENOEXEC ENOLCK
    ENOMEM ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTFOUND ENOTSOCK ENOTSUP ENOTTY ENXIO EOPNOTSUPP EOVERFLOW
    EPERM EPIPE EPROTO ERANGE EROFS ESHUTDOWN ESPIPE ESRCH ESTALE ETIMEDOUT ETXTBSY EWOULDBLOCK EXDEV
    """
)

# Case-folded. Endings that make "name.ending" a file.
FILE_ENDINGS = word_set(
    """
    7z apk avi bak bash bat bib bin bmp bz2 c cc cfg cjs class cmake cmd conf cpp cs css csv cts cxx dart db deb dll
    dmg doc docx dockerfile ejs epub exe ex exs fish gif go gradle graphql gz h hcl heic hpp hs htm html ico ics ini
    ipynb iso jar java jpeg jpg js json jsonl jsx key keynote kt lock log lua md mdx mjs mov mp3 mp4 msi mts numbers
    odp ods odt onnx parquet patch pdf pem php pickle pkl plist png ppt pptx properties proto ps1 psd py pyc pyi pyx
    r rar rb rs rst rtf safetensors sass scala scss sh so sol sql sqlite srt svelte svg swift tar tex tf tfvars tgz
    tiff toml ts tsv tsx ttf txt vue war wasm wav webm webp whl xls xlsm xlsx xml yaml yml zip zsh
    """
)

# Files that are known by the whole name.
DOT_FILES = word_set(
    ".env .gitignore .gitattributes .dockerignore .bashrc .zshrc .profile .npmrc .editorconfig .htaccess .vimrc "
    "Dockerfile Makefile Jenkinsfile Vagrantfile Procfile Gemfile Rakefile CMakeLists.txt"
)

# Folders that begin a path and are no words of a conversation, and those that begin it after a "/".
FOLDERS = word_set("src lib usr var opt pkg tests node_modules .github .git .vscode .config site-packages dist")
ROOTS = word_set("api app bin boot data dev etc home lib mnt opt proc root run srv sys tmp usr var")

# Before the colon of `repo:path`; and what stands before a colon in ordinary text.
QUALIFIERS = word_set("repo repository path file branch org tag ref symbol package module image commit doc docs")
NO_QUALIFIERS = word_set("re fw fwd note ps nb eg ie todo update edit either question answer subject cc via mailto")

# Parts of compound adjectives: "part-time/full-time" is not a repository.
COMPOUNDS = word_set(
    """
    part full half long short low high non self ex co pre post semi multi time term day law check sign log well best
    first second third one two three old new old-fashioned big small hard easy left right front back year years
    month week life work free end side top mid based level made like style ready friendly
    """
)

# Of hosts that are written without "https://".
TOP_LEVEL_DOMAINS = word_set("com org net io dev ai app edu gov co uk de fr eu us ca au nl ch info local internal")
