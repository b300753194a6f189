/** Serializes values in the styles of OpenAPI parameters: those of RFC 6570 and a few more. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { HttpParameter } from "./http-operation.ts";
import { encodeReserved, percentEncode } from "./percent-encode.ts";
import { valueText } from "../../core/content.ts";

export interface ValueStyle {
  /** The name in the request. */
  readonly name: string;
  readonly style: HttpParameter["style"];
  readonly explode: boolean;
  readonly allowReserved?: boolean | undefined;
}

/** A value of one level: nested values are JSON text. */
type FlatValue =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | { readonly kind: "table"; readonly entries: readonly (readonly [key: string, text: string])[] };

/** Undefined for null, and for an empty array or object, which RFC 6570 treats as undefined. */
function flatten(value: JsonValue): FlatValue | undefined {
  if (isJsonArray(value)) {
    const items = value.filter((item) => item !== null).map(valueText);
    return items.length === 0 ? undefined : { kind: "list", items };
  }
  if (!isJsonObject(value)) return value === null ? undefined : { kind: "text", text: valueText(value) };
  const entries = Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, valueText(item)] as const]));
  return entries.length === 0 ? undefined : { kind: "table", entries };
}

type Encode = (text: string) => string;

/** The text for a path's placeholder; undefined if the value is null or empty. */
export function pathText({ name, style, explode }: ValueStyle, value: JsonValue, encode: Encode = percentEncode): string | undefined {
  const flat = flatten(value);
  if (flat === undefined) return undefined;
  if (style === "label") return `.${joinPairs(flat, explode, { encode, exploded: "." })}`;
  if (style === "matrix") return matrixText(name, flat, explode);
  return joinPairs(flat, explode, { encode, exploded: "," });
}

function matrixText(name: string, flat: FlatValue, explode: boolean): string {
  const one = (key: string, text: string): string => `;${percentEncode(key)}${text === "" ? "" : `=${text}`}`;
  if (explode && flat.kind === "list") return flat.items.map((item) => one(name, percentEncode(item))).join("");
  if (explode && flat.kind === "table") return flat.entries.map(([key, text]) => one(key, percentEncode(text))).join("");
  return one(name, joinPairs(flat, false, { encode: percentEncode, exploded: "," }));
}

/** The value of a header, unencoded; undefined if it is null or empty. */
export function headerText(explode: boolean, value: JsonValue): string | undefined {
  const flat = flatten(value);
  return flat === undefined ? undefined : joinPairs(flat, explode, { encode: (text) => text, exploded: "," });
}

interface JoinOptions {
  readonly encode: Encode;
  /** The separator of exploded items. */
  readonly exploded: string;
}

/** A value as one text: `a,b`; an object as `k,v,k,v`, or exploded `k=v,k=v`. */
function joinPairs(flat: FlatValue, explode: boolean, { encode, exploded }: JoinOptions): string {
  if (flat.kind === "text") return encode(flat.text);
  const separator = explode ? exploded : ",";
  if (flat.kind === "list") return flat.items.map(encode).join(separator);
  return flat.entries.map(([key, text]) => `${encode(key)}${explode ? "=" : ","}${encode(text)}`).join(separator);
}

/** Separators of items that share one name, encoded. */
const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C", tabDelimited: "%09" };

/** Encoded `name=value` pairs for queries, cookies and forms; [] for null and for an empty array or object. */
export function queryPairs(parameter: ValueStyle, value: JsonValue): readonly string[] {
  const { name, style, explode } = parameter;
  const encode = parameter.allowReserved === true ? encodeReserved : percentEncode;
  if (style === "deepObject") {
    const pairs: string[] = [];
    addDeepObject(name, value, (key, text) => pairs.push(`${percentEncode(key)}=${encode(text)}`));
    return pairs;
  }
  const flat = flatten(value);
  if (flat === undefined) return [];
  if (flat.kind === "text") return [`${percentEncode(name)}=${encode(flat.text)}`];
  if (explode) {
    if (flat.kind === "list") return flat.items.map((item) => `${percentEncode(name)}=${encode(item)}`);
    return flat.entries.map(([key, text]) => `${percentEncode(key)}=${encode(text)}`);
  }
  const items = flat.kind === "list" ? flat.items : flat.entries.flat();
  return [`${percentEncode(name)}=${items.map(encode).join(DELIMITERS[style] ?? ",")}`];
}

/**
 * Adds `a[b][c]=d`. OpenAPI leaves arrays undefined: simple values are sent as `a[]=1&a[]=2`, objects with their index, which is how Stripe, Rails
 * and PHP read them.
 */
function addDeepObject(name: string, value: JsonValue, add: (name: string, text: string) => void): void {
  if (isJsonArray(value)) {
    const numbered = value.some((item) => typeof item === "object" && item !== null);
    for (const [index, item] of value.entries()) addDeepObject(numbered ? `${name}[${index}]` : `${name}[]`, item, add);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value)) addDeepObject(`${name}[${key}]`, item, add);
  } else if (value !== null) {
    add(name, valueText(value));
  }
}
