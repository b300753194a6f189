/** Words for examples. All are common or invented; domains and addresses are those reserved for documentation. */

const list = (words: string): readonly string[] => words.split(",");

export const FIRST_NAMES = list(
  "Ada,Bela,Carla,Daniel,Elena,Farid,Greta,Hugo,Ines,Jonas,Kira,Liam,Mara,Noor,Otto,Priya,Rosa,Samir,Tessa,Viktor",
);
export const LAST_NAMES = list(
  "Almeida,Berg,Castro,Dubois,Eriksen,Fischer,Garcia,Hansen,Ito,Jansen,Kowalski,Lopez,Meyer,Novak,Okafor,Petit,Rossi,Singh,Toth,Weber",
);
export const COUNTRY_CODES = list("US,GB,DE,FR,IT,ES,PT,NO,AT,CH,IE,GR,FI,PL,NL,SE,KE,PE,JP,CA,EG,IN,BR,AU,KR,MX,CN,ZA,DK,BE,TR,SG");
export const STREETS = list("Mill Lane,Station Road,Garden Street,Harbour Way,Church Hill,Park Avenue,Orchard Close,Bridge Street");
export const COMPANIES = list(
  "Northwind Mills,Blue Harbour,Quiet Pines,Orchard Works,Copper & Co,Lumen Labs,Silver Line,Harvest Table,Stonebridge Group,Redwood Supply,Marlow & Finch,Cedar Post,Brightwater,Ironside Tools,Kestrel Media,Fairmont Paper,Juniper Health,Oakline Freight,Pebble Interiors,Saltmarsh Seeds,Tallow & Wick",
);
export const CURRENCIES = list("EUR,USD,GBP,JPY,CHF,SEK,CAD,PLN,AUD,NOK,INR,SGD");
export const LANGUAGES = list("en,de,fr,es,it,pt,nl,pl,ja,sv");
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
export const AIRPORTS = list(
  "FCO,OSL,LIS,VIE,PRG,DUB,MAD,ATH,HEL,WAW,NBO,LIM,CDG,LHR,BER,ZRH,AMS,JFK,SFO,ORD,YYZ,HND,ICN,SIN,SYD,LAX,ATL,DXB,FRA,BOM,DEL,HKG,SEA,DEN,MIA",
);
export const CARRIER_CODES = list("AU,SY,NW,ME,BH");
export const CARRIERS = list("Aurora Air,Skyway,Northern Wings,Meridian,Blue Heron");
export const ADJECTIVES = list("quiet,bright,small,early,green,warm,gentle,swift,amber,silver,clear,steady,round,modern,simple,fresh");
export const NOUNS = list(
  "river,garden,window,bridge,lantern,harbour,meadow,compass,basket,ticket,letter,station,orchard,mirror,kettle,island",
);
export const US_STATES = list("CA,NY,TX,FL,IL,WA,MA,CO,GA,OR,AZ,NC,OH,PA,MI,VA,NJ,MN");
export const US_STATE_NAMES = list(
  "California,New York,Texas,Florida,Illinois,Washington,Massachusetts,Colorado,Georgia,Oregon,Arizona,Ohio",
);
export const LANGUAGE_NAMES = list(
  "English,German,French,Spanish,Italian,Portuguese,Dutch,Polish,Japanese,Swedish,Korean,Chinese,Arabic,Hindi",
);
export const LOCALES = list("en-US,en-GB,de-DE,fr-FR,es-ES,it-IT,pt-BR,nl-NL,pl-PL,ja-JP,sv-SE,ko-KR");
export const TICKERS = list("AAPL,MSFT,GOOG,GOOGL,AMZN,TSLA,NVDA,META,NFLX,IBM,ORCL,INTC,CSCO,KO,PEP,DIS,NKE,JPM,V,WMT,SBUX");
export const COINS = list("BTC,ETH,SOL,ADA,XRP,DOGE,LTC,DOT,LINK,AVAX");
export const COIN_NAMES = list("bitcoin,ethereum,solana,cardano,ripple,dogecoin,litecoin,polkadot,chainlink,avalanche");
export const CURRENCY_PAIRS = list("EUR/USD,GBP/USD,USD/JPY,USD/CHF,AUD/USD,USD/CAD,EUR/GBP,EUR/JPY");
export const COIN_PAIRS = list("BTCUSDT,ETHUSDT,SOLUSDT,ADAUSDT,XRPUSDT,BNBUSDT,LTCUSDT,DOTUSDT");
export const SPORTS = list("soccer,basketball,tennis,cricket,hockey,baseball,volleyball,rugby,golf,handball");
export const GENRES = list("rock,jazz,pop,classical,hip-hop,electronic,folk,blues,country,metal");
export const LEAGUES = list("Premier League,La Liga,Serie A,Bundesliga,Ligue 1,NBA,NHL,MLB,Eredivisie");
export const CAR_MAKES = list("Toyota,Honda,Ford,Volvo,Audi,Kia,Mazda,Skoda,Renault,Subaru");
export const SIGNS = list("aries,taurus,gemini,cancer,leo,virgo,libra,scorpio,sagittarius,capricorn,aquarius,pisces");
/** Values for names that give no hint about them. */
export const SETTINGS = list(
  "default,standard,general,primary,basic,main,custom,classic,alpha,beta,gamma,delta,north,south,east,west,central,upper,lower,inner,outer,first,second,third,final,early,late,short,long,small,medium,large,light,dark,open,closed,simple,advanced,full,partial,local,global,public,internal,manual,automatic,daily,weekly,monthly",
);
/** Names of things that their owners name freely. */
export const PROPER_NAMES = list(
  "Atlas,Aurora,Borealis,Cascade,Cedar,Cobalt,Comet,Drift,Echo,Ember,Falcon,Fjord,Granite,Helix,Indigo,Juniper,Keystone,Lark,Lumen,Maple,Meridian,Mosaic,Nimbus,Northstar,Onyx,Orbit,Osprey,Polaris,Prism,Quartz,Raven,Ridge,Sable,Sierra,Solstice,Spruce,Summit,Tern,Topaz,Vertex,Willow,Zephyr",
);
