/** The fields in answers of tools without an output schema: those that the description mentions, and those that are usual for the topic. */
import type { JsonObject } from "../../core/base/json.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { nameWords, toSingular } from "../../schema/example/name-words.ts";
import { isPersonNoun } from "../../schema/example/person-nouns.ts";
import { findTopic, topicText } from "../../schema/example/topics.ts";

/** A name, `=`, and its values: a range of integers or numbers, alternatives, or a type. Without `=`, the type follows from the name. */
const FIELD_TABLE = `calories=80..900 protein=2.0..60.0 carbohydrates=3.0..120.0 fat=1.0..50.0 servings=1..12 preparation_time_minutes=5..90
cooking_time_minutes=10..180 cuisine=Italian|Mexican|Thai|Indian|Greek|Japanese difficulty=easy|medium|hard rating=1.5..5.0
reviews=12..4800 address phone price_range=low|moderate|high open_now=boolean price_per_night=45.0..420.0 currency rooms_available=1..40
city country title artist album duration_seconds=95..420 release_date=date genre followers=120..980000 release_year=1972..2025
director=person runtime_minutes=78..190 seasons=1..9 author publisher pages=96..820 isbn platform=PC|PlayStation|Xbox|Switch|mobile
players=1..64 published_at=date-time url=uri summary company location salary posted_at=date-time price change_percent=-4.5..4.8 volume
market_cap=1200000..980000000 dividend_yield=0.2..6.4 home_team away_team home_score away_score team position=1..20 points=3..88
wins=1..28 losses=0..21 severity duration_days=1..30 sets=2..5 repetitions=6..20 muscle_group=legs|back|chest|shoulders|core|arms make
year mileage=1200..182000 fuel_type=petrol|diesel|electric|hybrid horsepower=68..420 bedrooms bathrooms area_sqm=28.0..240.0
starts_at=date-time attendees=4..120 organizer status priority assignee due_date=date airline departure_time=date-time
duration_minutes=10..240 stops=0..2 temperature humidity wind_speed condition feels_like species lifespan_years=2..60
height_cm=12.0..210.0 weight_kg=0.4..95.0 diet=herbivore|carnivore|omnivore watering=daily|weekly|monthly sunlight=full|partial|shade
instructor=person level=beginner|intermediate|advanced lessons=4..48 enrolled=15..5200 width=320..3840 height=240..2160
format=png|jpeg|webp size_bytes=1800..4800000 content version language license=MIT|Apache-2.0|BSD-3-Clause|GPL-3.0 forks=3..4200
downloads=150..920000 views=120..980000 likes=4..46000 comments=0..3900 channel part_of_speech=noun|verb|adjective|adverb frequency=1..100
in_stock=boolean brand stock=1..240 name result=number valid=boolean available=boolean count=1..400 translation distance_km=1.2..980.0
population timezone latitude longitude balance rate score=12..98 rank=1..50 username email verified=boolean category answer
percentage=1.0..99.0 average minimum=1..40 maximum=60..400 postal_code confidence tags genres ingredients languages
sentiment=positive|neutral|negative caption keywords=keywords carrier ip domain expires_at=date-time open close high low lyrics=content forecast=condition delay_minutes=0..90 gate=A4|B12|C7|D21 terminal=1|2|3
subscribers=90..990000 videos=3..900 matches=1..40 goals=0..42 assists=0..30 magnitude=2.1..7.4 depth_km=2.0..180.0 uv_index=1..11
air_quality=good|moderate|poor visibility_km=1.0..24.0 pressure_hpa=985..1034 precipitation_mm=0.0..24.0 transactions=1..480 hash=hash
block=15000000..19999999 supply=1000000..900000000 definition description odds=1.1..9.5 age=18..60 nationality=country
tracks=4..24 episodes=6..120 job_type=full-time|part-time|contract experience_years=1..12 discount_percent=5..60 votes=8..48000
monthly_payment=90.0..2400.0 total_payable=1200.0..420000.0 bmi=18.0..32.0 starts_on=date total_price=40.0..900.0 guests=1..5 placed_on=date total=9.0..480.0 item_count=1..6 amount=4.0..640.0 booked_on=date
counterparty account_type opened_on=date subject sender=person sent_at=date-time flight_number airport_name iata_code line=IC_204|RE_7|S3|N12|ICE_617
arrival_time=date-time plan renews_on=date shipping_carrier estimated_delivery=date language_name language_code country_code device_name
last_seen=date-time battery_percent=4..100 value=0.4..96.0 recorded_at=date-time hostname cpu_percent=2..96 memory_mb=128..16384
started_at=date-time interest_rate=1.4..8.9 card_type=debit|credit|prepaid last_digits=1040..9980 expires_on=date branch commit full_name
log_level file_name code members=2..60 posts=1..4600 uploaded_at=date-time registered_at=date words=6..900 readability=22.0..88.0 errors_found=0..9
dosage_mg=50..800 length_minutes=1..94 altitude_m=4..2900 bpm=72..168 popularity=14..97 created_by=person entries=2..90`;

/** The usual fields of a topic, which is named by its first word in `schema/example/topics.ts`. */
const TOPIC_FIELD_TABLE = `ingredient: calories protein fat carbohydrates
recipe: servings preparation_time_minutes calories difficulty cuisine cooking_time_minutes
restaurant: address rating price_range phone reviews open_now
cocktail: difficulty ingredients rating price
hotel: address price_per_night currency rating rooms_available reviews
song: artist album duration_seconds release_date popularity bpm
artist: genre followers country tracks popularity
movie: release_year rating genre director runtime_minutes votes
book: author publisher pages rating release_year isbn
game: platform release_date rating players downloads
news: author published_at summary url language
job: company location salary currency job_type posted_at experience_years
stock: price change_percent volume currency market_cap dividend_yield
crypto: price change_percent volume market_cap supply
sport: matches wins losses points position
symptom: severity duration_days description dosage_mg
exercise: sets repetitions muscle_group difficulty duration_minutes
car: make year mileage fuel_type price horsepower
property: city price bedrooms area_sqm bathrooms postal_code
meeting: starts_at duration_minutes organizer location attendees
task: status priority assignee due_date
flight: departure_time duration_minutes airline price currency stops
weather: temperature humidity wind_speed condition uv_index precipitation_mm
animal: species lifespan_years weight_kg diet country
plant: height_cm watering sunlight country
course: instructor level lessons enrolled rating
image: url width height format size_bytes
file: content size_bytes uploaded_at language
code: version license forks downloads language
quote: content author category likes
video: views likes comments channel length_minutes uploaded_at
word: definition part_of_speech frequency language
place: address latitude longitude rating timezone country
currency: rate currency updated_at
product: price currency in_stock rating brand reviews`;
/** Fields whose values have another range in one topic. */
const TOPIC_SCHEMA_TABLE = `car price=6200..48000|property price=95000..780000|property rate=650..2800|stock price=12.0..480.0|crypto price=0.2..68000.0
flight price=48.0..620.0|course price=12.0..240.0|restaurant price=8.0..60.0|book price=6.0..38.0|cocktail price=4.0..16.0|symptom price=4.0..60.0
game price=5.0..70.0|song price=0.7..14.0|hotel price=48.0..320.0|currency rate=0.6..1.8`;
const GENERAL_FIELDS = "status category updated_at created_by entries".split(" ");
/** The usual fields of a record, by its noun. A list shows the first of them, and no name in addition. */
const NOUN_FIELD_TABLE = `reservation,booking,appointment,stay: status starts_on total_price currency guests
order,purchase,sale: status placed_on total currency item_count
transaction,payment,charge,transfer,refund,expense,deposit,withdrawal: amount currency booked_on counterparty status
invoice,bill,receipt: amount currency due_date status
account,wallet: balance currency account_type opened_on
message,email,mail,sms,letter: subject sender sent_at
tweet,status_update: content likes posted_at comments
comment,review,feedback: author rating content posted_at
flight: flight_number airline departure_time price currency
airport: airport_name iata_code city country
train,bus,ferry: line departure_time arrival_time price
subscription,membership: plan status renews_on price
shipment,package,parcel,delivery: status shipping_carrier estimated_delivery city
alert,notification,warning: subject severity sent_at
language: language_name language_code
country: country country_code currency population
city,town: city country population timezone
address: address city postal_code country
device,sensor: device_name status last_seen battery_percent
measurement,reading,metric: value recorded_at
server,instance,vm,container,pod,cluster,node,host: hostname status cpu_percent memory_mb
workflow,run,build,pipeline,deployment,execution: status started_at duration_seconds
loan,mortgage: amount interest_rate status monthly_payment
card: card_type last_digits expires_on status
branch: branch commit author updated_at
commit: commit author subject
user,customer,client,person,employee,member,contact,patient,guest,passenger,student,teacher,owner,agent: name email phone city
log: log_level subject sent_at
file,document,attachment: file_name size_bytes uploaded_at
conversation,chat,thread: subject members updated_at
certificate,voucher,coupon: code amount expires_on status`;
/** Nearly every API description has words of the topic `code`, so it is used only if one of these words occurs, too. */
const CODE_WORDS = /\b(?:repositor(?:y|ies)|packages?|librar(?:y|ies)|plugins?|software|npm|github|gitlab|pypi|open.source)\b/iu;

/** Words of descriptions and names, with the fields that they imply. */
const FIELDS_BY_WORD = new Map(
  "temperature,humidity,wind:wind_speed,uv:uv_index,rain:precipitation_mm,precipitation:precipitation_mm,forecast,visibility:visibility_km,pressure:pressure_hpa,air quality:air_quality,price,prices:price,rate,rates:rate,exchange:rate,conversion:rate,convert:result,calculate:result,calculator:result,compute:result,sum:result,average,percentage:percentage,translate:translation,translation,sentiment,lyrics,definition,synonym:tags,synonyms:tags,keywords,keyword:keywords,caption,summary,summarize:summary,headline:title,headlines:title,joke:content,fact:content,facts:content,quote:content,riddle:content,advice:content,horoscope:content,story:content,poem:content,balance,distance:distance_km,duration:duration_minutes,directions:duration_minutes,population,timezone:timezone,coordinates:latitude+longitude,latitude,longitude,geocode:latitude+longitude,postal:postal_code,zip:postal_code,zipcode:postal_code,email,username:username+available,availability:available,available,validate:valid,validation:valid,verify:valid,verification:valid,valid,count,number of:count,followers,subscribers,views,likes,comments,reviews:rating+reviews,review:rating,ratings:rating,rating,score,scores:home_score+away_score,standings:points+position,standing:points+position,ranking:rank+score,rankings:rank+score,leaderboard:rank+score,odds,goals,assists,statistics:matches+count+average+maximum,stats:matches+count+average+maximum,schedule:starts_at,fixtures:home_team+away_team+starts_at,fixture:home_team+away_team+starts_at,results:home_score+away_score,livescore:home_team+away_team+home_score+away_score,release:release_date,cast:director,trailer:url,download:url+size_bytes,screenshot:url+width+height,photo:url+width+height,photos:url,logo:url+format,qr:url+format,qrcode:url+format,barcode:url+format,thumbnail:url,shorten:url,domain,whois:domain+registered_at+expires_at,ip:ip+country+city,dns:domain+ip,hash,block,transaction:transactions,transactions,gas:price,dividend:dividend_yield,dividends:dividend_yield,volume,market cap:market_cap,candlestick:open+high+low+close,ohlc:open+high+low+close,historical:open+close+high+low,tracking:status+carrier,shipment:status+carrier,delivery:status,delay:delay_minutes,terminal,gate,earthquake:magnitude+depth_km,earthquakes:magnitude+depth_km,elevation:altitude_m,altitude:altitude_m,grammar:errors_found+words,spelling:errors_found+words,readability,phone:phone+valid,profile:username+followers+verified,user:username+email,account:username+email,calories,nutrition:calories+protein+fat,ingredients,bmi:bmi+category,interest:result,tax:result+percentage,loan:monthly_payment+total_payable,mortgage:monthly_payment+total_payable,discount:discount_percent,currency,player:team+age+nationality+position,players:team+age,episode:episodes+duration_minutes,episodes,season:seasons,playlist:tracks+followers,channel:subscribers+videos,tweet:content+likes,post:content+likes+comments,posts:content+likes,hashtag:posts+views,members"
    .split(",")
    .map((pair) => {
      const [word = "", fields = word] = pair.split(":");
      return [word, fields.split("+")] as const;
    }),
);

const NUMBER_FIELDS = new Set(
  "price,open,close,high,low,rating,temperature,humidity,wind_speed,feels_like,latitude,longitude,balance,rate,confidence,average".split(
    ",",
  ),
);
const INTEGER_FIELDS = new Set("bedrooms,bathrooms,population,volume,salary,home_score,away_score".split(","));
const ARRAY_FIELDS = new Set("tags,genres,ingredients,languages".split(","));
const BOOLEAN_FIELDS = new Set(["in_stock"]);

const FIELD_SCHEMAS: ReadonlyMap<string, JsonObject> = new Map(
  FIELD_TABLE.split(/\s+/u).map((field) => {
    const at = field.indexOf("=");
    const name = at < 0 ? field : field.slice(0, at);
    return [name, schemaOf(at < 0 ? "" : field.slice(at + 1), name)] as const;
  }),
);
const NOUN_FIELDS: ReadonlyMap<string, readonly string[]> = new Map(
  NOUN_FIELD_TABLE.split("\n").flatMap((row) => {
    const at = row.indexOf(": ");
    return row
      .slice(0, at)
      .split(",")
      .map((noun) => [noun, row.slice(at + 2).split(" ")] as const);
  }),
);

/** The usual fields of a noun; undefined if it is not known. */
export function nounFields(noun: string): readonly string[] | undefined {
  return NOUN_FIELDS.get(noun) ?? NOUN_FIELDS.get(noun.slice(noun.lastIndexOf("_") + 1));
}

const TOPIC_SCHEMAS: ReadonlyMap<string, JsonObject> = new Map(
  TOPIC_SCHEMA_TABLE.split(/[|\n]/u).map((row) => {
    const at = row.indexOf("=");
    return [row.slice(0, at), schemaOf(row.slice(at + 1), row.slice(row.indexOf(" ") + 1, at))] as const;
  }),
);
const TOPIC_FIELDS: ReadonlyMap<string, readonly string[]> = new Map(
  TOPIC_FIELD_TABLE.split("\n").map((row) => [row.slice(0, row.indexOf(":")), row.slice(row.indexOf(":") + 2).split(" ")] as const),
);

/** The schema of `1..5`, `1.0..5.0`, `a|b`, a type or a format. For a name alone it is a string, unless the name implies another type. */
function schemaOf(values: string, name: string): JsonObject {
  const [from = "", to] = values.split("..");
  if (to !== undefined) return { type: from.includes(".") ? "number" : "integer", minimum: Number(from), maximum: Number(to) };
  if (values.includes("|")) return { type: "string", enum: values.split("|") };
  if (values === "boolean" || values === "number") return { type: values };
  if (values === "date" || values === "date-time" || values === "uri") return { type: "string", format: values };
  if (values !== "") return { type: "string", description: values };
  if (ARRAY_FIELDS.has(name)) return { type: "array", items: { type: "string" }, minItems: 1 };
  return {
    type: NUMBER_FIELDS.has(name) ? "number" : INTEGER_FIELDS.has(name) ? "integer" : BOOLEAN_FIELDS.has(name) ? "boolean" : "string",
  };
}

const MAX_MENTIONED = 4;
const MAX_WORDS = 60;
const MAX_CHARS = 400;

export interface UsualFieldsOptions {
  /** The noun that the tool is about; `""` for none. */
  readonly noun: string;
  /** Maximum number of fields. */
  readonly maxFields: number;
  /** Whether a field may be used. @default any field */
  readonly isAllowed?: (field: string) => boolean;
}

/** Matches tools that compute something: they answer with the result only. */
const COMPUTING_DESCRIPTION =
  /^(?:calculates?|computes?|converts?|validates?|verif(?:y|ies)|checks?|counts?|translates?|detects?|solves?|evaluates?|determines?|estimates?|compares?|encodes?|decodes?|encrypts?|decrypts?|hash(?:es)?|summari[sz]es?|rounds?|parses?|adds?|subtracts?|multipl(?:y|ies)|divides?)\b/iu;
const QUESTION_NAME = /^(?:is|has|can|does|are)(?:_|[A-Z])/u;
const ID_LOOKUP_NAME = /^(?:find|get|look_?up|search|fetch|retrieve)_((?:(?!by_|with_|from_)[a-z\d]+_)+)id(?:_|$)/u;
/** Fields that a calculation or a check has as its input, not as its result. */
const INPUT_FIELDS = new Set("currency,phone,email,username,domain,ip,url,team,price,name".split(","));
/** Mentioned fields that repeat a usual one. */
const REPEATED_FIELDS = new Set("currency,price,rate,status,result".split(","));
/** Fields of sports matches. */
const SPORT_FIELDS = new Set("home_score,away_score,home_team,away_team,points,position,goals,assists,matches,team,odds".split(","));
/** Topics in which a quote is a price, and topics without rates. */
const TOPICS_WITHOUT_TEXTS = new Set("stock,crypto,currency,flight,hotel,car,property,product".split(","));
const TOPICS_WITHOUT_RATES = new Set("product,flight,restaurant,recipe,song,movie,book,game,sport,task,meeting,course".split(","));
/** Words that imply the fields of a person only if the tool is about people. */
const PERSON_WORDS = new Set("user,account,profile,username,player,players".split(","));

/** The properties of a generated answer of the tool, at most `maxFields`: those that its description mentions come first. */
export function usualFields(
  tool: Pick<Tool, "name" | "description">,
  { noun, maxFields, isAllowed = () => true }: UsualFieldsOptions,
): Readonly<Record<string, JsonObject>> {
  const { name, description } = tool;
  const bare = name.slice(name.lastIndexOf(":") + 1);
  if (QUESTION_NAME.test(bare)) return { [bare]: { type: "boolean" } };
  const topic = findTopic(topicText(tool, noun))?.noun ?? "";
  const mentioned = mentionedFields(`${name} ${description}`, isPersonNoun(noun))
    .filter((field) => topic === "sport" || !SPORT_FIELDS.has(field))
    .filter((field) => !(field === "content" && TOPICS_WITHOUT_TEXTS.has(topic)) && !(field === "rate" && TOPICS_WITHOUT_RATES.has(topic)))
    .slice(0, MAX_MENTIONED);
  const computed = mentioned.filter((field) => !INPUT_FIELDS.has(field));
  if (COMPUTING_DESCRIPTION.test(description.trim()) || COMPUTING_DESCRIPTION.test(nameWords(bare).join(" ")))
    return schemasOf(computed.length === 0 ? [/\b(?:whether|if)\b/iu.test(description) ? "valid" : "result"] : computed, topic);
  const isFound = ID_LOOKUP_NAME.exec(bare)?.[1];
  if (isFound !== undefined) return { [`${isFound}id`]: { type: "string", minLength: 1 } };
  const ofNoun = nounFields(noun);
  if (ofNoun !== undefined) {
    const rest = mentioned.filter((field) => !ofNoun.includes(field) && !REPEATED_FIELDS.has(field));
    return schemasOf([...ofNoun, ...rest].filter(isAllowed).slice(0, maxFields), topic);
  }
  const usual = (topic === "code" && !CODE_WORDS.test(`${name} ${description}`) ? undefined : TOPIC_FIELDS.get(topic)) ?? GENERAL_FIELDS;
  const turn = rotationOf(name, usual.length);
  return schemasOf(
    [...new Set([...mentioned, ...usual.slice(turn), ...usual.slice(0, turn)])].filter(isAllowed).slice(0, maxFields),
    topic,
  );
}

function schemasOf(fields: readonly string[], topic: string): Readonly<Record<string, JsonObject>> {
  return Object.fromEntries(
    fields.map((field) => [field, TOPIC_SCHEMAS.get(`${topic} ${field}`) ?? FIELD_SCHEMAS.get(field) ?? { type: "string" }]),
  );
}

function mentionedFields(about: string, isAboutPeople: boolean): readonly string[] {
  const words = nameWords(about.slice(0, MAX_CHARS)).slice(0, MAX_WORDS);
  const found = new Set<string>();
  for (const [at, word] of words.entries()) {
    if (PERSON_WORDS.has(word) && !isAboutPeople) continue;
    const fields =
      FIELDS_BY_WORD.get(`${word} ${words[at + 1] ?? ""}`) ?? FIELDS_BY_WORD.get(word) ?? FIELDS_BY_WORD.get(toSingular(word)) ?? [];
    for (const field of fields) found.add(field);
    if (found.size >= MAX_MENTIONED) break;
  }
  return [...found];
}

/** A number below `count`, from the name, so that tools of one topic differ in their answers. */
function rotationOf(name: string, count: number): number {
  let sum = 0;
  for (let at = 0; at < name.length; at++) sum = (sum * 31 + name.charCodeAt(at)) >>> 0;
  return sum % count;
}

/** Whether a schema accepts any object: such a tool is answered like one without a schema, by the usual answer. */
export function acceptsAnyObject(schema: JsonSchema | undefined): boolean {
  if (schema === undefined || schema === true) return true;
  if (schema === false) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (keyword === "type") return value === "object" || (Array.isArray(value) && value.includes("object"));
    if (keyword === "additionalProperties") return value === true || isEmpty(value);
    return keyword === "properties" ? isEmpty(value) : ANNOTATION_KEYWORDS.has(keyword);
  });
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

const ANNOTATION_KEYWORDS = new Set(["$schema", "$id", "$comment", "title", "description"]);
