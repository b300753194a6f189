/** Finds the part of an output that an answer is about: the nested object of a thing, or the array of things. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { nameWords, normalizeName } from "../../../schema/example/name-words.ts";
import { singularizeLast } from "./format-field.ts";
import { label } from "./format-value.ts";

/** Fields that only say that a call succeeded. */
export const CALL_STATUS_FIELDS: ReadonlySet<string> = new Set(
  "success,ok,status_code,error,errors,request_id,http_status,code".split(","),
);
const WRAPPER_NAMES = new Set("data,result,response,item,record,body,payload,object,entity,output,resource".split(","));
const MAX_DEPTH = 4;

/** Returns the nested object that describes the thing, and the array if the output is essentially one. */
export function unwrapOutput(
  output: JsonObject,
  thing: string,
): readonly [JsonObject, { readonly items: readonly JsonValue[]; readonly thing: string } | undefined] {
  let at = output;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const entries = Object.entries(at);
    const scalars = entries.filter(
      ([name, value]) =>
        typeof value !== "object" && !CALL_STATUS_FIELDS.has(normalizeName(name)) && !LIST_METADATA_NAMES.test(normalizeName(name)),
    );
    const lists = entries.filter((entry): entry is [string, readonly JsonValue[]] => isJsonArray(entry[1]));
    const list = lists.length === 1 ? lists[0] : undefined;
    const others = list !== undefined && isListWrapper(list[0]) ? scalars.filter(([name]) => !isEnvelopeField(name)) : scalars;
    if (list !== undefined && others.length <= 1) {
      const own = listNoun(list[0]);
      return [at, { items: list[1], thing: own === "" ? thing : own }];
    }
    const inner = entries.find(([name, value]) => isJsonObject(value) && (WRAPPER_NAMES.has(normalizeName(name)) || label(name) === thing));
    const only = entries.length === 1 ? entries[0] : inner;
    if (only === undefined || !isJsonObject(only[1]) || scalars.length > 2) return [at, undefined];
    at = only[1];
  }
  return [at, undefined];
}

const LIST_METADATA_NAMES =
  /^(?:total|count|page|limit|offset|size|has_more|next.*|per_page|pages|status|message|total_.*|.*_count|num_.*|list_length)$/u;

const ENVELOPE_NAMES =
  /^(?:object|kind|url|uri|href|self(?:_link)?|etag|api_version|prev.*|cursor|has_(?:next|previous)|(?:first|last)_id)$/u;

/** Whether a field describes the list and not a thing, as those that Stripe and Google return beside `data` and `items`. */
function isEnvelopeField(name: string): boolean {
  return ENVELOPE_NAMES.test(normalizeName(name));
}

const LIST_WRAPPERS = /^(?:data|results?|items|records|list|values|entries|objects|rows|hits|matches|elements|content|response|info)$/u;

function isListWrapper(name: string): boolean {
  return LIST_WRAPPERS.test(nameWords(name).join("_"));
}

/** Returns the noun of a named array; `""` for a name that only says that there are things. */
function listNoun(name: string): string {
  if (isListWrapper(name)) return "";
  const words = nameWords(name);
  const all = words.join(" ");
  if (/\d/u.test(all)) return "";
  return all.endsWith("s") && !/(?:ss|us|is|news|series)$/u.test(all) ? singularizeLast(words) : "";
}
