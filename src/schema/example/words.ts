/** Words that examples are made of. All are common or invented; domains and addresses are those reserved for documentation. */

const list = (words: string): readonly string[] => words.split(",");

export const FIRST_NAMES = list(
  "Ada,Bela,Carla,Daniel,Elena,Farid,Greta,Hugo,Ines,Jonas,Kira,Liam,Mara,Noor,Otto,Priya,Rosa,Samir,Tessa,Viktor",
);
export const LAST_NAMES = list(
  "Almeida,Berg,Castro,Dubois,Eriksen,Fischer,Garcia,Hansen,Ito,Jansen,Kowalski,Lopez,Meyer,Novak,Okafor,Petit,Rossi,Singh,Toth,Weber",
);
export const CITIES = list("Rome,Oslo,Lisbon,Vienna,Prague,Dublin,Madrid,Athens,Helsinki,Warsaw,Nairobi,Lima,Osaka,Toronto,Seoul,Cairo");
export const COUNTRIES = list("Italy,Norway,Portugal,Austria,Ireland,Spain,Greece,Finland,Poland,Kenya,Peru,Japan,Canada,Egypt");
export const COUNTRY_OF_CITY: ReadonlyMap<string, string> = new Map(
  list(
    "Rome:Italy,Oslo:Norway,Lisbon:Portugal,Vienna:Austria,Prague:Czechia,Dublin:Ireland,Madrid:Spain,Athens:Greece,Helsinki:Finland,Warsaw:Poland,Nairobi:Kenya,Lima:Peru,Osaka:Japan,Toronto:Canada,Seoul:South Korea,Cairo:Egypt,Paris:France,London:United Kingdom,Berlin:Germany,Zurich:Switzerland,Tokyo:Japan,New York:United States,San Francisco:United States,Amsterdam:Netherlands,Sydney:Australia",
  ).map((pair) => [pair.slice(0, pair.indexOf(":")), pair.slice(pair.indexOf(":") + 1)]),
);
export const COUNTRY_CODES = list("IT,NO,PT,AT,IE,ES,GR,FI,PL,KE,PE,JP,CA,EG");
export const REGIONS = list("Lazio,Catalonia,Tyrol,Ontario,Attica,Leinster,Bavaria,Tuscany");
export const STREETS = list("Mill Lane,Station Road,Garden Street,Harbour Way,Church Hill,Park Avenue,Orchard Close,Bridge Street");
export const COMPANIES = list(
  "Northwind Mills,Blue Harbour,Quiet Pines,Orchard Works,Copper & Co,Lumen Labs,Green Valley Foods,Silver Line",
);
export const CURRENCIES = list("EUR,USD,GBP,JPY,CHF,SEK,CAD,PLN");
export const LANGUAGES = list("en,de,fr,es,it,pt,nl,pl,ja,sv");
export const TIME_ZONES = list("Europe/Rome,Europe/Oslo,Europe/Lisbon,America/Toronto,Asia/Tokyo,Africa/Nairobi");
export const COLOURS = list("red,blue,green,yellow,black,white,orange,purple");
export const STATUSES = list("active,pending,completed,open,confirmed,processing");
export const PRIORITIES = list("low,medium,high");
export const AMENITIES = list("wifi,parking,breakfast,pool,gym,bar");
export const CATEGORIES = list("standard,premium,general,basic,travel,music,books,sports,home,food");
export const CONDITIONS = list("sunny,cloudy,light rain,clear,windy,overcast");
export const UNITS = list("kg,m,km,l,h,pcs");
export const MIME_TYPES = list("image/png,text/plain,application/json,application/pdf");
export const WEEKDAYS = list("Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday");
export const MONTHS = list("January,February,March,April,May,June,July,August,September,October,November,December");
export const GENDERS = list("female,male,other");
export const ROLES = list("editor,viewer,manager,member,analyst");
export const AIRPORTS = list("FCO,OSL,LIS,VIE,PRG,DUB,MAD,ATH,HEL,WAW,NBO,LIM");
export const CARRIER_CODES = list("AU,SY,NW,ME,BH");
export const CARRIERS = list("Aurora Air,Skyway,Northern Wings,Meridian,Blue Heron");
export const ADJECTIVES = list("quiet,bright,small,early,green,warm,gentle,swift,amber,silver,clear,steady,round,modern,simple,fresh");
export const NOUNS = list(
  "river,garden,window,bridge,lantern,harbour,meadow,compass,basket,ticket,letter,station,orchard,mirror,kettle,island",
);
export const SENTENCES: readonly string[] = [
  "A short note about the matter at hand.",
  "Everything is in order and ready to use.",
  "Most people are happy with it.",
  "It was checked again last week.",
  "Works well in small rooms.",
  "Please see the attached list.",
  "The next step is planned for Monday.",
  "A good choice for a quiet evening.",
];
