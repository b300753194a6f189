/** Topics of tools, recognized by words, with things that people mention there. All names are invented or common. */
import { wordSet } from "../../core/base/wording.ts";
import { nameWords, toSingular } from "./name-words.ts";

export interface Topic {
  /** Words that indicate the topic. */
  readonly words: readonly string[];
  /** The noun for one thing. */
  readonly noun: string;
  /** Things of its kind, as people write them. */
  readonly things: readonly string[];
  /** Whether the things have proper names; titles of works are also generated. */
  readonly named: "things" | "works" | undefined;
}

/** Words that indicate the topic, `|`, the things. The first word is the noun for a thing; `*` marks proper names, `+` titles of works. */
const ROWS = `ingredient|olive oil,chickpeas,brown rice,fresh basil,feta cheese,red lentils,coconut milk,smoked paprika,baby spinach,sweet potatoes,black beans,goat cheese
recipe,dish,food,meal,cooking,cook,cuisine,dinner,lunch,nutrition,calorie,diet|mushroom risotto,lentil soup,chicken curry,vegetable lasagne,grilled salmon,pumpkin pie,bean tacos,Greek salad,ramen,shakshuka,pancakes,pad thai,beef stew,falafel wrap
restaurant,cafe,dining*|The Copper Pot,Olive & Thyme,Blue Door Kitchen,Casa Linda,Harbour Grill,Little Saigon,The Corner Table,Noodle House,Trattoria Sole,Green Fork,Saffron Garden,Oak & Ember
cocktail,drink,beer,wine,coffee,tea,brewery|old fashioned,pale ale,espresso tonic,mint lemonade,pinot noir,matcha latte,negroni,ginger beer,cold brew,cider,oat stout,iced chai
hotel,hostel,accommodation,stay,lodging,resort*|Hotel Meridian,Seaview Lodge,The Linden House,Park Terrace Hotel,Old Mill Inn,Hotel Aurora,Riverside Suites,Casa Verde,The Lantern,Garden Court Hotel,Harbour Rooms,Villa Serena
song,music,lyric,album,track,playlist+|Paper Boats,Northern Lights Hotel,Slow Summer Rain,Golden Hour Drive,Hold the Line Again,Midnight in Verona,Postcards from Home,The Long Way Back,Neon Rivers,Between Two Stations,Winter Coats,A Better Tuesday
artist,singer,band,musician*|The Paper Lanterns,Mara Novak,Silver Coast,Otto and the Tides,Velvet Orchard,Kira Lund,Night Ferry,The Quiet Engines,Rosa Almeida,Low Meadow,Glass Harbour,Samir Blue
movie,film,cinema,tv,show,series,episode,anime,streaming,imdb+|The Glass Lantern,Last Train to Oslo,A Quiet Harvest,Signal Lost,The Cartographer,Borrowed Time,Under the Copper Sky,The Orchard Keeper,Falling Upwards,The Second Winter,Night Shift,City of Kites
book,novel,author,isbn,reading+|The Salt Road,A Field Guide to Silence,The Clockmaker's Daughter,Small Gods of Spring,The Harbour Letters,Learning to Row,The Last Orchard,Maps for the Lost,Beneath the Ice,A House of Paper,The Winter Garden,Ten Quiet Years
game,gaming,steam,minecraft,esports+|Starfall Tactics,Castle Run,Echo Valley,Harbour Tycoon,Iron Meadow,Skyline Racer,Puzzle Garden,Dungeon Lantern,Orbit Wars,Farm & Forge,Quest of Embers,Pixel League
news,article,headline,press,magazine,journalist|renewable energy,local elections,interest rates,housing prices,space exploration,electric vehicles,public transport,climate policy,artificial intelligence,football transfers,vaccine research,water shortages,trade agreements,cyber security
job,career,vacancy,employment,hiring,resume,recruiter,salary|data analyst,frontend developer,registered nurse,project manager,electrician,product designer,accountant,sales representative,warehouse supervisor,teacher,DevOps engineer,marketing specialist,chef de partie
stock,ticker,share,equity,company,companies,business,investor,market,earnings,dividend*|Northwind Power,Blue Harbour Energy,Quiet Pines Capital,Longfield Steel,Green Valley Foods,Silver Line Rail,Copper Ridge Mining,Ashgrove Insurance,Falcon Semiconductors,Delta Grain,Whitestone Homes,Coral Reef Airlines,Evergreen Paper,Halcyon Pharma,Aurora Robotics,Meridian Shipping,Tidewater Bank,Brightleaf Health
crypto,coin,token,blockchain,nft,wallet,cryptocurrency|bitcoin,ethereum,solana,cardano,polkadot,litecoin,stablecoins,layer 2 networks,staking rewards,DeFi lending,NFT collections,mining pools
sport,match,team,league,tournament,standing,fixture,football,basketball,cricket,club,score,soccer,tennis,hockey,baseball,rugby,golf,nba,nfl,nhl,mlb,uefa,fifa,formula,race,racing,motorsport*|Harbour United,Northgate Rovers,Riverside FC,Silver Hawks,Lakeside Lions,Old Town Athletic,Valley Bears,Coastal Kings,Granite City,Meadow Park,Eastfield Wolves,Summit Stars
symptom,medicine,drug,disease,health,doctor,patient,medical,hospital,pharmacy,illness|seasonal allergies,mild headache,knee pain,high blood pressure,ibuprofen,sore throat,lower back pain,insomnia,vitamin D deficiency,skin rash,dry cough,amoxicillin,migraine
exercise,workout,fitness,gym,yoga,muscle|push-ups,plank,morning stretch,deadlift,interval running,cycling,lunges,rowing,kettlebell swings,sun salutation,squats,pull-ups
car,vehicle,auto,vin,truck,motor,dealer|compact hatchback,electric sedan,family estate car,used pickup truck,hybrid SUV,convertible,seven-seat van,city car,diesel station wagon,sports coupe,plug-in hybrid,camper van
property,properties,house,apartment,realtor,rent,mortgage,estate,listing,home|two-bedroom apartment,garden flat,terraced house,studio near the station,family home with a garage,loft with a balcony,lakeside cottage,townhouse,penthouse,bungalow with a yard,basement flat,villa with a pool
meeting,event,appointment,calendar,schedule,reminder,agenda,conference,webinar|quarterly planning,dentist appointment,team lunch,project kick-off,parents' evening,budget review,yoga class,product demo,job interview,book club,board meeting,design workshop,school concert
task,todo,ticket,issue,bug,project,sprint,incident,support,case,feature|login timeout,price list update,certificate renewal,wrong invoice total,release notes,slow export of large files,keyboard order,broken link on the home page,missing password e-mail,branch clean-up,search without accents,double charge
flight,trip,travel,airport,airline,tour,vacation,itinerary,destination,holiday,attraction|weekend in Lisbon,hiking in the Alps,family beach holiday,business trip to Zurich,road trip along the coast,museums in Vienna,island hopping in Greece,city break in Prague,safari in Kenya,skiing near Innsbruck,wine tasting in Porto,northern lights in Norway
weather,forecast,climate,temperature,rain,wind|rain tomorrow morning,weekend forecast,snow in the mountains,wind at the coast,heat wave,frost tonight,humidity levels,thunderstorms,pollen count,sea temperature
animal,pet,dog,cat,breed,bird,species,wildlife|border collie,Siamese cat,barn owl,red panda,golden retriever,hedgehog,grey wolf,parakeet,sea turtle,guinea pig,arctic fox,harbour seal
plant,garden,flower,tree,farming,crop|tomato seedlings,lavender,apple tree,indoor ferns,sunflowers,olive tree,strawberry plants,climbing roses,basil,winter wheat,monstera,blueberry bushes
course,lesson,school,university,student,education,quiz,exam,learning,class,trivia|introduction to statistics,basic Spanish,world history,organic chemistry,web development,public speaking,music theory,linear algebra,creative writing,photography for beginners,microeconomics,first aid
image,photo,picture,art,drawing,icon,wallpaper,painting,logo,meme,gif,camera|a lighthouse at sunset,mountain lake in autumn,a cat on a bookshelf,city skyline at night,watercolour of a market,minimalist fox logo,old harbour in fog,portrait of a violinist,abstract blue waves,a red bicycle by a wall,forest path in snow,a robot in a garden
file,document,folder,report,spreadsheet,pdf,note,page,contract|meeting notes,quarterly report,travel expenses,project plan,onboarding checklist,price list,inventory,lease contract,research summary,budget overview,press release,user manual
code,program,software,repository,api,website,domain,server,database,plugin,app,package,script|date parser,image gallery,task scheduler,login form,chat server,backup script,payment service,CSV importer,photo editor,log viewer,search index,weather widget
quote,joke,fact,riddle,advice,inspiration|patience,friendship,hard work,new beginnings,cats,office life,space,courage,gratitude,mathematics,dreams,travel
video,channel,youtube,tiktok,instagram,influencer,hashtag,social,tweet,twitter,post,reel,creator|street food tour,beginner guitar lesson,home workout,drone footage,speed painting,product unboxing,garden makeover,cooking on a budget,travel vlog,science experiment,chess opening,phone repair
word,translation,language,dictionary,grammar,synonym,text,sentence|serendipity,resilient,meadow,wander,lantern,ambiguous,cheerful,horizon,gentle,curious,threshold,borrow
currency,currencies,forex,money,exchange|euro,US dollar,British pound,Japanese yen,Swiss franc,Swedish krona,Canadian dollar,Australian dollar,Norwegian krone,Polish zloty,Indian rupee,Singapore dollar
place,location,city,region,venue,map,geocode,coordinate,address,neighborhood,landmark,poi*|Old Town Square,Harbour Park,Riverside Market,Central Station,Botanical Garden,City Library,Castle Hill,North Beach,Lakeside Promenade,Market Hall,Museum Quarter,Observatory Hill,Cathedral Square,Orchard Street
product,item,article,shop,cart,sku,catalog,catalogue,inventory,purchase,order,brand,amazon,goods,store,price,asin,seller,review,gift|wireless headphones,coffee grinder,desk lamp,running shoes,rain jacket,standing desk,water bottle,bluetooth speaker,yoga mat,electric kettle,backpack,phone case,cast iron pan,air purifier,bath towels,mechanical keyboard,baby stroller,garden hose`;

const TOPICS: readonly Topic[] = ROWS.split("\n").map((row) => {
  const [told = "", things = ""] = row.split("|");
  const words = told.replace(/[*+]$/u, "").split(",");
  const named = told.endsWith("*") ? "things" : told.endsWith("+") ? "works" : undefined;
  return { noun: words[0] ?? "", words, things: things.split(","), named };
});
const BY_WORD: ReadonlyMap<string, Topic> = new Map(
  TOPICS.flatMap((topic) => topic.words.map((word) => [word, topic] as const)).toReversed(),
);

const MAX_KEPT = 5_000;
/** Maximum number of words of a description that are read. */
const MAX_WORDS = 40;
const topicCache = new Map<string, Topic | undefined>();

/** Words that are also verbs, or occur with any topic: they count only if no other word indicates a topic. */
const AMBIGUOUS_WORDS = wordSet(
  "post book order rent share schedule match report quote code drink cook text page price review store list support case feature program exchange money race place location city region venue map address coordinate neighborhood landmark poi show track stay series score team match club plant home app note contract tour resume listing tree grammar",
);

/** Words that show that a `game` is a sports match rather than a video game. */
const SPORT_WORDS = new Set(
  "football,basketball,cricket,soccer,tennis,hockey,baseball,rugby,golf,nba,nfl,nhl,mlb,uefa,fifa,league,team,teams,season,pregame,score,scores".split(
    ",",
  ),
);

function findTopicIn(words: readonly string[]): Topic | undefined {
  return words.map((word) => BY_WORD.get(word) ?? BY_WORD.get(toSingular(word))).find((topic) => topic !== undefined);
}

/** Returns the topic that a text mentions first; undefined if there is none. */
export function findTopic(text: string): Topic | undefined {
  if (text === "") return undefined;
  if (topicCache.has(text)) return topicCache.get(text);
  const words = nameWords(text).slice(0, MAX_WORDS);
  const found = findTopicIn(words.filter((word) => !AMBIGUOUS_WORDS.has(toSingular(word)))) ?? findTopicIn(words);
  const topic = found?.noun === "game" && words.some((word) => SPORT_WORDS.has(word)) ? BY_WORD.get("sport") : found;
  if (topicCache.size >= MAX_KEPT) topicCache.clear();
  if (text.length < 2_000) topicCache.set(text, topic);
  return topic;
}

/** Returns the text that determines the topic of a tool: its noun if that is enough, else its name and description. */
export function topicText({ name, description }: { readonly name: string; readonly description: string }, noun: string): string {
  const last = noun.slice(noun.lastIndexOf("_") + 1);
  const isPlain = last === "" || (AMBIGUOUS_WORDS.has(last) && BY_WORD.get(last)?.noun !== "place") || BY_WORD.get(last)?.noun === "game";
  return !isPlain && BY_WORD.has(last) ? last : `${name} ${description}`;
}
