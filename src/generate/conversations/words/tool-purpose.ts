/** Writes the purpose of a tool as an imperative: `get the forecast of a city`. */
import { parsePairs } from "./format-value.ts";
import type { Tool } from "../../../core/tool.ts";
import { nameWords, toSingular } from "../../../schema/example/name-words.ts";

/** The purpose in the words of the tool's author, without remarks on its implementation. */
export interface Purpose {
  /** The verb in its base form and in lower case: `get`. */
  readonly verb: string;
  /** The rest: `the forecast of a city`; `""` if the verb is enough. */
  readonly rest: string;
}

const VERBS = new Set(
  (
    "accept,access,adapt,alert,announce,annotate,backup,ban,bid,brew,broadcast,bulk,bump,burn,cast,clean,click,clone,commit,configure,control,customize,customise,deduct,demote,detach,dial,dispatch,dismiss,dispute,drag,drop,drive,drop,eject,empty,emit,enter,escalate,exchange,exclude,exit,expire,extend,finalize,finish,fire,fix,fork,freeze,go,handle,hire,hold,hover,improve,include,inform,ingest,inject,invalidate,kill,label,lead,learn,lend,let,lift,listen,lower,mail,migrate,mock,mount,mute,name,navigate,normalize,notify,offer,onboard,pack,partition,paste,patch,permit,ping,pin,press,prioritize,promote,propose,prune,quit,raise,reach,react,rebuild,reboot,redeem,redo,reduce,refine,refill,refuse,reindex,reinstall,relocate,rent,repair,repeat,rephrase,reserve,resend,respond,resume,retry,rewrite,ring,sell,seek,separate,serve,settle,shift,ship,shut,silence,skip,sleep,snooze,speak,stage,stream,style,supply,suspend,swap,tap,terminate,think,tip,type,undo,unfreeze,uninstall,unlink,unmute,unpin,unshare,update,upsert,validate,wait,wake,warn,watch,weigh,wipe,wrap,activate,add,adjust,aggregate,allocate,analyze,analyse,answer,append,apply,approve,archive,arrange,ask,assess,assign,attach," +
    "authenticate,block,book,browse,build,buy,calculate,call,cancel,capture,change,charge,chat,check,choose,classify,clear,close,collect,combine," +
    "compare,compile,complete,compose,compress,compute,configure,confirm,connect,convert,copy,correct,count,create,crop,deactivate,decode,decrypt," +
    "delete,deliver,deploy,deposit,describe,detect,determine,disable,discover,display,divide,download,draft,draw,duplicate,edit,enable,encode," +
    "encrypt,enrol,enroll,estimate,evaluate,execute,expand,export,extract,fetch,fill,filter,find,flag,flip,follow,forecast,format,forward,generate,get," +
    "give,grant,group,hash,help,hide,highlight,identify,import,increase,index,initialize,initiate,insert,inspect,install,invite,invoke,issue,join," +
    "launch,like,link,list,load,lock,log,look,make,manage,map,mark,match,measure,merge,minify,modify,monitor,move,multiply,obtain,open,optimize," +
    "order,organize,parse,pause,pay,perform,pick,place,plan,play,plot,post,predict,preview,print,process,produce,provide,publish,pull,purchase,push," +
    "put,query,rank,rate,read,receive,recognize,recommend,record,recover,redeploy,redirect,refresh,refund,register,reject,release,reload,remind,remove,rename," +
    "render,renew,reopen,replace,reply,report,request,reschedule,reserve,reset,resize,resolve,restart,restore,retrieve,return,reverse,review,revoke," +
    "roll,rotate,round,run,sanitize,save,scan,schedule,score,scrape,search,select,send,set,share,shorten,show,shuffle,sign,simplify,simulate,solve,sort,split," +
    "start,stop,store,submit,subscribe,subtract,suggest,sum,summarize,switch,sync,synthesize,tag,take,tell,test,toggle,track,train,transcribe,transfer," +
    "transform,translate,trigger,trim,turn,unblock,unfollow,unlock,unsubscribe,update,upgrade,upload,use,validate,vectorize,verify,view,visualize,vote,withdraw,write"
  ).split(","),
);
/** Verbs of reading, whose object can be requested: `show me the forecast`. */
const READ_VERBS = new Set(
  "get,fetch,retrieve,return,show,give,provide,display,obtain,view,list,query,read,access,receive,tell,pull,load".split(","),
);
/** Verbs of descriptions, and the verbs that people use instead. */
const SPOKEN_VERBS = parsePairs(
  "retrieve:get,fetch:get,return:get,provide:get,obtain:get,display:show,query:get,give:get,access:get,receive:get,pull:get,load:get,view:show,tell:get",
);

const MAX_TEXT = 400;
const MAX_PURPOSE = 110;
const MAX_CACHED = 20_000;
const purposes = new Map<string, Purpose>();

/** Reads the purpose from the description or title, else from the name. */
export function getPurpose(tool: Pick<Tool, "name" | "title" | "description">): Purpose {
  const key = `${tool.name} ${tool.description}`;
  let purpose = purposes.get(key);
  if (purpose !== undefined) return purpose;
  purpose =
    readReturnPurpose(tool) ??
    parseDescription(tool.description) ??
    (tool.title === undefined ? undefined : parseDescription(tool.title)) ??
    parseName(tool.name);
  if (purposes.size >= MAX_CACHED) purposes.clear();
  purposes.set(key, purpose);
  return purpose;
}

/** Returns the purpose of a tool that returns goods: there, `return` does not mean `get`. */
function readReturnPurpose({ name, description }: Pick<Tool, "name" | "description">): Purpose | undefined {
  if (!/^returns?[_-]|^return[A-Z]/u.test(name) || !/^return\b/iu.test(description)) return undefined;
  const read = parseDescription(description);
  return read === undefined ? undefined : { verb: "return", rest: read.rest };
}

/** Whether the tool's purpose is to return information. */
export function isReadPurpose({ verb, rest }: Purpose): boolean {
  return READ_VERBS.has(verb) && rest !== "";
}

export function formatPurpose({ verb, rest }: Purpose): string {
  return rest === "" ? verb : `${verb} ${rest}`;
}

const OPENING =
  /^(?:(?:this|the|an?|use this|our)\s+)?(?:(?:api|endpoint|function|method|tool|service|route|operation|request|call)s?\b)?[\s:,-]*(?:(?:that|which|is|are|will|can|be|may|you|users?|the user|to|for|used|use|using|allows?|lets?|enables?|helps?|designed|able|let's)\s+)*/iu;

function parseDescription(description: string): Purpose | undefined {
  const text = firstSentence(description);
  const opening = OPENING.exec(text)?.[0] ?? "";
  const words = text.slice(opening.length).split(" ");
  const verb = findBaseForm((words[0] ?? "").toLowerCase());
  if (verb === undefined) return parseNounDescription(text);
  const rest = withoutSecondVerb(words.slice(1).join(" ")).replace(RETURN_CLAUSE, "");
  if (verb === "help" || (verb === "use" && opening === "")) return undefined;
  const shortened = shorten(lowerFirst(toImperative(rest, (words[0] ?? "").toLowerCase() !== verb)));
  if (shortened === undefined) return undefined;
  return withSpokenVerb(verb, shortened.replace(/^back /u, ""));
}

/** A clause that only says that the result is returned. */
const RETURN_CLAUSE = /,? and (?:then )?(?:returns?|returning|outputs?|provides?|responds?|shows?|displays?)\b.*$/iu;

function withSpokenVerb(verb: string, rest: string): Purpose {
  if (verb === "list" && rest.startsWith("of ")) return { verb: "get", rest: `the list ${rest}` };
  if (verb === "list" || verb === "show" || verb === "read") return { verb: rest === "" ? "show" : verb, rest };
  const spokenVerb = SPOKEN_VERBS.get(verb) ?? verb;
  return rest === "" && spokenVerb === "get" ? { verb: "get", rest: "the data" } : { verb: spokenVerb, rest };
}

/** Reads a description without a verb: `current weather data` is something to get. */
function parseNounDescription(text: string): Purpose | undefined {
  const words = text.split(" ");
  if (words.length < 2 || words.length > 8 || !/^[a-z][a-z' -]+$/iu.test(text)) return undefined;
  if (
    /^(?:does|do|is|are|has|you|i|we|it|if|when|whether|given|please|note|use|enter|input|specify|pass|insert your|based|only|optional|to|by|and|or|not|for|with|of|returns?|endpoint)\b/iu.test(
      text,
    )
  )
    return undefined;
  if (/\b(?:is|are|was|will|can|returns?|includes?|gives?|apis?|endpoints?|method|request|json)\b/iu.test(text)) return undefined;
  return { verb: "get", rest: `the ${lowerFirst(text).replace(/^(?:the|an?) /u, "")}` };
}

/** Returns the first sentence, without markup of HTML and Markdown. */
function firstSentence(description: string): string {
  const text = description
    .slice(0, MAX_TEXT)
    .replaceAll(/<[^<>]{0,40}>/gu, " ")
    .replaceAll(/[`*]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)/gu, "")
    .trim();
  const sentence = /^[^\n]*?(?=[.!?:](?:\s|$)|\n|$)/u.exec(text)?.[0] ?? "";
  return sentence
    .replaceAll(/\s*\([^()]*(?:\)|$)/gu, "")
    .replaceAll(/\s+/gu, " ")
    .trim();
}

/** Drops a second verb: `fetches and returns the data` has one meaning. */
function withoutSecondVerb(rest: string): string {
  const [, second = ""] = /^(?:and|or|\/|,) (\w+) /iu.exec(rest) ?? [];
  return second !== "" && findBaseForm(second.toLowerCase()) !== undefined ? rest.slice(rest.indexOf(second) + second.length + 1) : rest;
}

/** Makes further verbs imperative: after `cancels`, `a booking and refunds the customer` becomes `a booking and refund the customer`. */
function toImperative(rest: string, isConjugated: boolean): string {
  if (!isConjugated) return rest;
  return rest.replaceAll(
    /( and (?:then )?)(\p{L}+(?:s|ing))(?= (?:an?|the|it|them|its|their|all)\b)/giu,
    (whole, and: string, word: string) => {
      const verb = findBaseForm(word.toLowerCase());
      return verb === undefined ? whole : and + verb;
    },
  );
}

/** Matches where a description turns from the purpose to the implementation. */
const IMPLEMENTATION =
  /(?:,? (?:using|through|via|from|by querying|by using|by calling|by making|by performing|by searching|in|on|with)(?: (?:the|an?|its|our|this))? (?:[^,.;]{0,50} )?(?:[\w-]*API|RapidAPI|endpoint|service|platform|HTTP|JSON|XML)\b.*$)|(?:,? (?:(?<!\b(?:an?|the|any|each|some|for) )given (?!an? )|includes? |including |including$|with (?:the )?(?:options?|optional|parameters?|support)|when you|where you|so that|in order to|such as|like |e\.g|i\.e|(?:from|with|using|based on|for|by) (?:the |its )?(?:given |provided |specified |optional |various |search |query |following )*(?:parameters?|options|filters|criteria|inputs?|fields)\b|which |that (?:can|will|is|are|may|have|has|contain|match|meet)|whose |based on (?:the )?(?:given|provided|specified|various)|given the |with the provided|in (?:json|xml) format|as (?:json|xml)|according to).*$)/iu;

function shorten(rest: string): string | undefined {
  let text = trimDanglingEnd(rest.replace(IMPLEMENTATION, ""));
  if (text === "" && rest !== "") return undefined;
  if (text.length > MAX_PURPOSE) {
    const clause = text.slice(0, MAX_PURPOSE);
    const cut = Math.max(clause.lastIndexOf(", "), clause.lastIndexOf(" for "), clause.lastIndexOf(" and "), clause.lastIndexOf(" by "));
    if (cut < 20) return undefined;
    text = trimDanglingEnd(clause.slice(0, cut));
  }
  return /[^\u0020-\u024F’“”–—]/u.test(text) || /[{}[\]<>$\\=]|https?:/u.test(text) ? undefined : text;
}

/** Drops a dangling end: `the keyword for a` becomes `the keyword`. */
function trimDanglingEnd(text: string): string {
  return text.replace(
    /(?:[\s,;:.]|\b(?:an?|the|any|and|or|of|for|from|by|with|in|on|to|at|based|given|specified|provided|via|using|through))+$/u,
    "",
  );
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/u.test(text) && !/^[A-Z]\w* [A-Z]/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** Returns `get` for `gets`, `getting` and `get`; undefined for a word that is not a known verb. */
function findBaseForm(word: string): string | undefined {
  if (VERBS.has(word)) return word;
  const ending = word.endsWith("ing") ? 3 : word.endsWith("s") ? 1 : 0;
  if (ending === 0) return undefined;
  const stem = word.slice(0, -ending);
  const found = [stem, `${stem}e`, stem.replace(/(.)\1$/u, "$1"), stem.replace(/e$/u, ""), stem.replace(/ie$/u, "y")].find((one) =>
    VERBS.has(one),
  );
  return found;
}

/** Reads the purpose from a name: `get_order` becomes `get order`, `flight_search` `search for flight`, `forecast_daily` `get the forecast daily`. */
function parseName(name: string): Purpose {
  const words = nameWords(name).slice(0, MAX_NAME_WORDS);
  const [first = "this", ...rest] = words;
  const verb = findBaseForm(first);
  if (verb !== undefined) return withSpokenVerb(verb, withArticle(rest, READ_VERBS.has(verb)));
  if (words.at(-1) === "search") return { verb: "search", rest: `for ${words.slice(0, -1).join(" ")}` };
  return { verb: "get", rest: `the ${words.join(" ")}` };
}

/** Adds an article: `the order` for things that are read, `an order` for things that are created, none for a plural. */
function withArticle(words: readonly string[], isRead: boolean): string {
  const [first = ""] = words;
  const last = words.at(-1) ?? "";
  const text = words.join(" ");
  if (text === "" || toSingular(last) !== last || /^(?:all|the|an?|my|by|for|from|in|to|with|of|on|\d.*)$/u.test(first)) return text;
  return `${isRead ? "the" : /^[aeiou]/u.test(first) ? "an" : "a"} ${text}`;
}

const MAX_NAME_WORDS = 10;
