/** Finds the literal values in a description, and their roles: choices, examples, the default. */
import { pushAll } from "../../core/collections/push-all.ts";

/** One value as written in a description. */
export interface Literal {
  readonly text: string;
  /** Whether it is in quotes, and thus a string. */
  readonly quoted: boolean;
}

export interface Literals {
  readonly choices: readonly Literal[];
  readonly examples: readonly Literal[];
  readonly defaultValue: Literal | undefined;
}

const QUOTED =
  /`([^`\n]{1,60})`|(?<!\w)'([^'\n]{1,60})'(?!\w)|"([^"\n]{1,60})"|\u201c([^\u201d\n]{1,60})\u201d|\u2018([^\u2019\n]{1,60})\u2019|\*\*([^*\n]{1,40})\*\*/gu;
const EXAMPLE_LEAD =
  /(?:\be\.? ?g\b\.?|\bfor (?:example|instance)\b|\bexamples?(?: values?)?\b(?: are| is| include)?|\bsuch as|\blike|\bi\.e\.)[\s,:(=[]*$/iu;
const DEFAULT_LEAD = /\bdefaults?\b(?: value)?(?: is| are| to|:|=| of| being| will be| set to)?[\s:(=[]*$/iu;
const FORMAT = /\b(?:formats?|formatted(?: as)?|pattern|the form)\b(?: is| of| as|:)?[\s:([{]*$/iu;
const CHOICES_LEAD =
  /\b(?:one of(?: the)?(?: following)?(?: \w+)?|(?:accepted|acceptable|valid|allowed|possible|supported|available|permitted|known) (?:\w+ ){0,2}(?:are|is|include|includes)|(?:values|options|choices|types|modes) (?:are|include|can be|must be)|options|values|choices|enum|either|supports|(?:can|may|must|should|could) be(?: either| one of| set to)?|specify|use|set to)[\s:([{=,]*$/iu;

/** Matches after quoted words that are names of other parameters. */
const NAMES_OTHER_PARAMETER =
  /^,?\s(?:must|should|is|are|has to|have to|needs? to) (?:be )?(?:specified|provided|required|given|set|present|used)|^\s(?:parameters?|fields?|endpoint|operation|API)\b/iu;

interface Run {
  readonly literals: Literal[];
  readonly start: number;
  end: number;
  /** Whether a word or mark between them, such as "or", says that one is to be chosen. */
  joinedByOr: boolean;
}

/** The text between two values of one enumeration. */
const GAP =
  /^\s?(?:\([^()]{0,60}\))?(?: (?:for|to) [^,;`'"]{1,40}?| means [^,;`'"]{1,30}?|\s?[-=:] ?[^,;|`'"]{1,30}?)?\s?(?:[,;/|\n]\s*(?:or|and)?|or|and)\s*(?:[a-z]{1,12} )?$/iu;

/** @param text limited in length by the caller */
export function findLiterals(text: string): Literals {
  const choices: Literal[] = [];
  const examples: Literal[] = [];
  let fallback: Literal | undefined;
  for (const { literals, start, end, joinedByOr } of findQuotedRuns(text)) {
    const before = text.slice(Math.max(0, start - 70), start);
    if (DEFAULT_LEAD.test(before)) fallback ??= literals[0];
    else if (FORMAT.test(before) || NAMES_OTHER_PARAMETER.test(text.slice(end, end + 40))) continue;
    else if (EXAMPLE_LEAD.test(before)) pushAll(examples, literals);
    else if (CHOICES_LEAD.test(before) ? literals.length > 1 || choices.length > 0 : joinedByOr || literals.length > 2)
      pushAll(choices, literals);
  }
  fallback ??= findBareDefault(text);
  if (examples.length === 0) pushAll(examples, findBareExamples(text));
  if (choices.length === 0) pushAll(choices, findBareChoices(text));
  return { choices: distinct(choices), examples: distinct(examples), defaultValue: isNothing(fallback) ? undefined : fallback };
}

function findQuotedRuns(text: string): readonly Run[] {
  const runs: Run[] = [];
  let end = 0;
  for (const found of text.matchAll(QUOTED)) {
    const literal = {
      text: (found.slice(1).find((one) => one !== undefined) ?? "").replaceAll(/^[\s*`'"]+|[\s*`'"]+$/gu, ""),
      quoted: true,
    };
    const last = runs.at(-1);
    const gap = text.slice(end, found.index);
    if (last !== undefined && gap.length < 90 && GAP.test(gap)) {
      last.literals.push(literal);
      last.joinedByOr ||= /\bor\b|\|/iu.test(gap);
    } else runs.push({ literals: [literal], start: found.index, end: 0, joinedByOr: false });
    end = found.index + found[0].length;
    const run = runs.at(-1);
    if (run !== undefined) run.end = end;
  }
  return runs.filter(({ literals }) => literals.every(({ text: one }) => one !== ""));
}

const BARE_FALLBACK =
  /\bdefaults?\b(?: value)?(?: is| to|:|=| of)?\s*(?::\s*)?(-?\d+(?:\.\d+)?(?![\w:/-])|true\b|false\b|[A-Za-z][\w-]{0,20}(?=[.,)]|$))/iu;

function findBareDefault(text: string): Literal | undefined {
  const found = BARE_FALLBACK.exec(text)?.[1];
  return found === undefined ? undefined : unquoted(found);
}

const BARE_EXAMPLE = /\bi\.e\.[,:]?\s+|\be\.? ?g\b\.?[,:]?\s+|\bfor (?:example|instance)[,:]?\s+|\bexamples?\s?[:=]\s*|\bsuch as:?\s+/iu;
/** The explanation that ends an example. */
const EXPLAINED = /\s(?:for|will|which|to|means|is|are|=|in|as|where|when|if|corresponds|represents|-)\s.*$/su;

function findBareExamples(text: string): readonly Literal[] {
  const lead = BARE_EXAMPLE.exec(text);
  if (lead === null) return [];
  const [list = ""] = text.slice(lead.index + lead[0].length).split(/[)\]\n;]|\.(?=\s|$)/u, 1);
  const isLoose = /such as/iu.test(lead[0]);
  const listed = splitItems(list.replace(/,?\s?etc\.?$/u, ""));
  const explained = listed.findIndex((item) => EXPLAINED.test(item));
  const items = listed.slice(0, explained < 0 ? listed.length : explained + 1).map((item) => item.replace(EXPLAINED, "").trim());
  const limit = isLoose ? /^[\w.+:-]{1,24}$/u : /^[^\s"'`{}]{1,40}(?: [^\s"'`{}]{1,20}){0,3}$/u;
  const fitting = items.filter((item) => limit.test(item) && !/:\s|^(?:the|a|an|by|in|if|when|this|any|all|your|etc)\b/iu.test(item));
  return fitting.length === items.length && items.length > 0
    ? fitting.map(unquoted)
    : fitting
        .slice(0, 1)
        .filter(() => !isLoose)
        .map(unquoted);
}

const BARE_OFFER =
  /\b(?:one of(?: the following)?(?: values| options)?|(?:accepted|acceptable|valid|allowed|possible|supported|available|permitted) (?:\w+ )?(?:values?|options?|choices|types|formats|intervals|periods)?(?: (?:are|is|include|includes))?|(?:values|options|choices|types|modes)(?: (?:are|include))?|enum)\s*[:=-]?\s+|\b(?:options|values|choices|enum)\s*[:=]\s*|\beither\s/iu;
const WHOLE_PAIR = /^["']?(\w{1,20})["']? or ["']?(\w{1,20})["']?\.?$/u;
const IN_BRACKETS =
  /(?:types?|modes?|orders?|formats?|units?|directions?|sort(?:ing)?|status|gender|kind|methods?|scheme|level|style)\s*[([{](?:either )?\s*((?:[\w.+-]{1,20}\s*(?:\||,? or |\/)\s*)+[\w.+-]{1,20})\s*[)\]}]/u;
const PIPED = /(?<![\w|])((?:[\w.+-]{1,24}\s?\|\s?){1,12}[\w.+-]{1,24})(?![\w|])/u;
/** Words that qualify a value but are not values themselves. */
const NOT_VALUES =
  /^(?:the|a|an|any|all|these|this|that|following|positive|negative|zero|empty|provided|unique|valid|used|between|integer|string|number|greater|less|both|none|by|in|to|from|with|via|for|and|or|you|it|values?|options?|more|other|here|set|not|no)$/iu;

function findBareChoices(text: string): readonly Literal[] {
  const pair = WHOLE_PAIR.exec(text.trim());
  if (pair !== null) return [unquoted(pair[1] ?? ""), unquoted(pair[2] ?? "")];
  const piped = PIPED.exec(text)?.[1] ?? IN_BRACKETS.exec(text)?.[1];
  if (piped !== undefined && !/^(?:and\/or|\d+\/\d+)/u.test(piped)) {
    const items = piped.includes("|") ? piped.split("|") : piped.split(/,? or |\//u);
    const values = items.map((item) => item.trim());
    if (/\||\bor\b/u.test(piped) && values.every((item) => !NOT_VALUES.test(item))) return values.map(unquoted);
  }
  const lead = BARE_OFFER.exec(text);
  if (lead === null) return [];
  const [list = ""] = text.slice(lead.index + lead[0].length).split(/\.(?=\s|$)|\n\n|;/u, 1);
  const items = splitItems(list.replace(/^[[({]/u, "").replace(/[\])}]$/u, ""));
  const isTight = /either|one of/iu.test(lead[0]) && !/:/u.test(lead[0]);
  const fits = isTight ? /^[\w.+-]{1,24}$/u : /^[\w.+&/-]{1,24}(?: [\w.+&/-]{1,16})?$/u;
  const isList = items.length > 1 && items.every((item) => fits.test(item) && !item.split(" ").some((word) => NOT_VALUES.test(word)));
  return isList ? items.map(unquoted) : [];
}

/** Returns the parts of "a, b or c", without texts in parentheses. */
function splitItems(list: string): readonly string[] {
  return list
    .replaceAll(/\([^()]*\)/gu, "")
    .split(/,\s?(?:or|and)\s|,|\s(?:or|and)\s|\s?\|\s?/u)
    .map((item) =>
      item
        .trim()
        .replaceAll(/^(?:[-*] )?[`'"]*|[`'"]+$/gu, "")
        .trim(),
    )
    .filter((item) => item !== "");
}

function unquoted(text: string): Literal {
  return { text, quoted: false };
}

const NOTHING =
  /^(?:none|null|nil|undefined|n\/?a|empty|not|no|the|a|an|is|to|it|all time|today|now|current|unset|unspecified|\{\}|\[\])$/iu;

function isNothing(literal: Literal | undefined): boolean {
  return literal === undefined || literal.text === "" || NOTHING.test(literal.text);
}

function distinct(literals: readonly Literal[]): readonly Literal[] {
  return literals.filter(({ text }, index) => literals.findIndex((other) => other.text === text) === index);
}
