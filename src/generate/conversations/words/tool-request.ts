/** The request for a tool, as a template with places for the values of a call. It is built once per tool and set of inputs. */
import { getOrAdd } from "../../../core/base/get-or-add.ts";
import type { Tool } from "../../../core/tool.ts";
import { parseDescription } from "../../../schema/example/parsed-description.ts";
import { inputParameters, type SchemaParameter } from "../../tool-parameters.ts";
import { normalizeName } from "../../../schema/example/name-words.ts";
import { getPurpose, type Purpose } from "./tool-purpose.ts";
import { fillPurpose, type Slot } from "./request-slots.ts";
import { label } from "./format-value.ts";

/** The slots of a call. */
export interface RequestSlots {
  readonly slots: readonly Slot[];
  /** The slot that is an amount with its currency. */
  readonly moneySlot: Slot | undefined;
}

/** A purpose with places for slots, by index. */
interface Template {
  readonly parts: readonly (string | number)[];
  /** The slots without a place in it. */
  readonly left: readonly number[];
}

const MAX_TEMPLATES = 500;
const toolRequests = new WeakMap<Tool, ToolRequest>();

export class ToolRequest {
  readonly purpose: Purpose;
  readonly #parameters: readonly SchemaParameter[];
  /** The labels of all inputs. */
  readonly #labels: readonly string[];
  readonly #describedLabels = new Map<string, string | undefined>();
  readonly #templates = new Map<string, Template>();

  private constructor(tool: Tool) {
    this.purpose = getPurpose(tool);
    this.#parameters = inputParameters(tool.inputSchema);
    this.#labels = this.#parameters.map(({ name }) => label(name));
    for (const { name, description } of this.#parameters) this.#describedLabels.set(name, readDescribedLabel(name, description));
  }

  static of(tool: Tool): ToolRequest {
    return getOrAdd(toolRequests, tool, () => new ToolRequest(tool));
  }

  /** Returns the label from the description of an input such as `t` or `lr`, whose name is not a word. */
  describedLabel(name: string): string | undefined {
    return this.#describedLabels.get(name);
  }

  /** Returns the rest of the purpose with the values filled in, and the slots without a place. */
  fillSlots({ slots, moneySlot }: RequestSlots): { readonly words: string; readonly left: readonly Slot[] } {
    let key = "";
    for (const slot of slots) key += `${slot.kind}\n${slot.name}\n${slot.noun}\n${replacementMark(slot)}${slot === moneySlot ? "!" : ""}\n`;
    let template = this.#templates.get(key);
    if (template === undefined) {
      template = this.#createTemplate({ slots, moneySlot });
      if (this.#templates.size >= MAX_TEMPLATES) this.#templates.clear();
      this.#templates.set(key, template);
    }
    let words = "";
    for (const part of template.parts) words += typeof part === "string" ? part : (slots[part]?.inPlace ?? "");
    return { words, left: template.left.flatMap((index) => slots[index] ?? []) };
  }

  #createTemplate({ slots, moneySlot }: RequestSlots): Template {
    const places = slots.map((slot, index) => ({ ...slot, inPlace: slot.inPlace === undefined ? undefined : placeholderFor(slot, index) }));
    const names = this.#labels;
    const rest = omitInputMentions(omitBetween(toUserPerspective(this.purpose.rest), places), places, names);
    const { text, left } = fillPurpose(rest, places, names);
    const at = moneySlot === undefined ? -1 : slots.indexOf(moneySlot);
    const phrase = omitCurrencies(text, { verb: this.purpose.verb, from: places[at], left });
    return { parts: splitPlaceholders(phrase.words), left: phrase.left.map((slot) => places.findIndex((place) => place === slot)) };
  }
}

/** Private-use characters, which descriptions do not contain. */
const PLACEHOLDER_START = "\uE000";
const PLACEHOLDER_END = "\uE001";
const PLACEHOLDER = /\uE000(\d+)\uE001"?/gu;

/** Returns `""` if a slot has no words for its noun, `"` if they are quoted, after which nothing more is filled in, else `_`. */
function replacementMark({ inPlace }: Slot): string {
  return inPlace === undefined ? "" : inPlace.includes('"') ? '"' : "_";
}

function placeholderFor(slot: Slot, index: number): string {
  return `${PLACEHOLDER_START}${index}${PLACEHOLDER_END}${replacementMark(slot) === '"' ? '"' : ""}`;
}

function splitPlaceholders(text: string): readonly (string | number)[] {
  const parts: (string | number)[] = [];
  let end = 0;
  for (const found of text.matchAll(PLACEHOLDER)) {
    parts.push(text.slice(end, found.index), Number(found[1]));
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  return parts.filter((part) => part !== "");
}

const NOT_A_WORD = /^(?:[a-z]{1,2}|[b-df-hj-np-tv-z]{2,4}\d?)$/u;
const MAX_HEAD = 30;

function readDescribedLabel(name: string, description: string): string | undefined {
  if (!NOT_A_WORD.test(normalizeName(name)) || label(name) !== name.toLowerCase()) return undefined;
  const head = parseDescription(description).noun.replaceAll("_", " ");
  return head !== "" && head.length <= MAX_HEAD && !/\d/u.test(head) ? head : undefined;
}

const GENERIC_RECIPIENT =
  / to (?:somebody|someone|a recipient|the recipient|(?:an?|the|one or more) (?:given |specified )?(?:person|email address|address|user)s?)(?=$|[,;]| with\b)/iu;
const GENERIC_PLACE =
  /\b(?:near|in|of|for|at|around) (?:an?|the|any) (?:given |specific |specified |certain )?(?:place|location|city|town|area|address|region|country)(?=$|[,;]| (?:and|on|for|with|by)\b)/iu;
const GENERIC_LANGUAGE = /\b(?:in)?to (?:another|a different|the target|a target|any|a|the specified|the given) language\b/iu;

/** Leaves out general mentions of inputs, such as `by keyword`, whose values follow. */
function omitInputMentions(rest: string, slots: readonly Slot[], names: readonly string[]): string {
  let text = rest;
  if (slots.some(({ kind }) => kind === "to")) text = text.replace(GENERIC_RECIPIENT, "");
  const place = slots.find(({ kind, name }) => kind === "in" && normalizeName(name) !== "address");
  if (place !== undefined && GENERIC_PLACE.exec(text)?.[0].endsWith(` ${place.noun}`) === false) text = text.replace(GENERIC_PLACE, "");
  if (slots.some(({ name }) => /lang/iu.test(name))) text = text.replace(GENERIC_LANGUAGE, "");
  for (const { noun } of slots)
    if (noun !== "" && text.includes(`a ${noun} of `))
      text = text.replace(new RegExp(`,? with an? ${noun.replaceAll(/[^\p{L}\p{N} ]/gu, ".")} of .*$`, "iu"), "");
  const [whole = "", listed = ""] = INPUT_MENTIONS.exec(text) ?? [];
  const parts =
    listed === "" ? [] : listed.split(/,\s*(?:and |or )?| and | or /u).map((part) => part.replace(LEADING_WORDS, "").toLowerCase());
  const known = names.map((name) => name.toLowerCase());
  const isNamed = (part: string): boolean =>
    part === "" || known.some((name) => name.includes(part) || (name.length > 2 && part.includes(name)));
  const isFor = parts.length === 1 && whole.startsWith(" for ");
  return (parts.length > 0 && !isFor && parts.every(isNamed) ? text.replace(INPUT_MENTIONS, "") : text).trim();
}

const INPUT_MENTIONS =
  / (?:by|using|with|based on|via|given|for) ((?:(?:its|their|the|an?|his|your|my) )?(?:(?:given|specified|provided|optional|unique|search) )?[\p{L} ]{2,30}?(?:(?:, | and |, and | or |, or )(?:(?:its|their|the|an?|optional) )?[\p{L} ]{2,30}?){0,5})$/u;
const LEADING_WORDS = /^(?:(?:its|their|the|an?|his|your|my|given|specified|provided|optional|unique|search)\s+)+/iu;

/** Changes the perspective: `your` in a description is `my` in the user's request. */
function toUserPerspective(rest: string): string {
  return rest.replaceAll(/\b(?:your|(?:the|a) (?:current )?user's)\b/giu, "my").replaceAll(/\bto the user\b/giu, "to me");
}

/** Shortens `flights between two cities` to `flights` if the cities follow. */
function omitBetween(rest: string, slots: readonly Slot[]): string {
  const hasBoth = slots.some(({ kind }) => kind === "from") && slots.some(({ kind }) => kind === "to");
  return hasBoth
    ? rest.replace(
        / (?:between|from one) (?:(?:two|the|different|given|specified) )*(?:\p{L}+ ){0,2}?\p{L}+s(?: to another)?(?=$| (?:on|for|at|in|and|by)\b)/iu,
        "",
      )
    : rest;
}

/** Drops `between currencies` after an amount: `convert 201.59 EUR between currencies`. */
function omitCurrencies(
  text: string,
  { verb, from, left }: { readonly verb: string; readonly from: Slot | undefined; readonly left: readonly Slot[] },
): { readonly words: string; readonly left: readonly Slot[] } {
  if (verb !== "convert" || from === undefined) return { words: text, left };
  const isMentioned = !left.includes(from);
  const words = (isMentioned ? text : (from.inPlace ?? "")).replace(/ (?:between|from one|from)\b.*(?:currenc|unit).*$/u, "");
  return { words, left: left.filter((slot) => slot !== from) };
}
