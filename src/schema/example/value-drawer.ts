/** Draws the values of one example within one budget. */
import type { JsonValue } from "../../core/base/json.ts";
import { ValidationRun } from "../compiled-schema.ts";
import { evaluate } from "../evaluate.ts";
import { MAX_STEPS } from "../schema-limits.ts";
import { type Constraints, type Part, TYPE_BIT, typeBitOf } from "./constraints.ts";
import type { ConstraintsReader } from "./constraints-reader.ts";
import { drawArray } from "./draw-array.ts";
import { drawObject } from "./draw-object.ts";
import { type DrawContext, type DrawMode, type ValuePlace, isOnTrail } from "./draw-context.ts";
import { edgeNumber } from "./edge-number.ts";
import { moveInTime } from "./eras.ts";
import { type ParsedDescription, parseDescription } from "./parsed-description.ts";
import { literalValues } from "./literal-values.ts";
import { type Subject, isStateName, equivalentValues } from "./given-values.ts";
import { isGenericItemName } from "./object-ids.ts";
import { isPersonNoun } from "./person-nouns.ts";
import { normalizeName } from "./name-words.ts";
import { isFlagName } from "./plausible-text.ts";
import { isIntegerByName, plausibleNumber } from "./plausible-number.ts";
import { PatternBudget } from "../pattern/pattern.ts";
import { type TextBudget, plausibleString } from "./plausible-string.ts";
import type { RandomStream } from "./random-stream.ts";
import { givenExpressionResult } from "./relations/expressions.ts";
import { type Topic, findTopic } from "./topics.ts";

/** Maximum number of values drawn for one example, including discarded ones. */
const MAX_DRAWS = 20_000;
/** After this many values, only required parts are drawn. */
const MANY_DRAWS = 600;
/** Maximum number of validation steps for one example. */
const MAX_CHECK_STEPS = 400_000;
const STEPS_PER_CHECK = 50_000;
const VISITS_PER_DRAW = 10;
const CHARACTERS_PER_DRAW = 64;
const MAX_TRIES = 24;
const USUAL_TRIES = 8;
/** Maximum depth of any value. */
const MAX_DEPTH = 60;

export interface Budget extends TextBudget {
  draws: number;
  checkSteps: number;
  /** Steps for validating the whole value. */
  finalSteps: number;
}

export function createBudget(): Budget {
  return {
    draws: MAX_DRAWS,
    checkSteps: MAX_CHECK_STEPS,
    finalSteps: 2 * MAX_STEPS,
    patterns: new PatternBudget(),
    formats: new PatternBudget(),
  };
}

export interface DrawerOptions {
  readonly reader: ConstraintsReader;
  readonly budget: Budget;
  readonly maxDepth: number;
  readonly maxItems: number;
  readonly subject: Subject | undefined;
  /** The topic of the whole value. */
  readonly topic: Topic | undefined;
  readonly facts: RandomStream | undefined;
  /** Number of the attempt at the whole value, from 0. */
  readonly attempt: number;
}

export class ValueDrawer implements DrawContext {
  readonly maxItems: number;
  readonly subject: Subject | undefined;
  readonly facts: RandomStream | undefined;
  readonly #options: DrawerOptions;
  #drawn = 0;

  constructor(options: DrawerOptions) {
    this.#options = options;
    this.maxItems = options.maxItems;
    this.subject = options.subject;
    this.facts = options.facts;
  }

  findSubschema(raw: unknown): Part | undefined {
    return this.#options.reader.findSubschema(raw);
  }

  parseDescriptions(parts: readonly Part[]): ParsedDescription | undefined {
    for (const part of parts) {
      const description = part === false ? undefined : part.raw["description"];
      if (typeof description === "string" && description !== "") return parseDescription(description);
    }
    return undefined;
  }

  matchesSchema(part: Part, value: JsonValue): boolean {
    const { budget } = this.#options;
    if (part === false || budget.checkSteps <= 0) return false;
    const steps = Math.min(STEPS_PER_CHECK, budget.checkSteps);
    const run = new ValidationRun(steps, 0);
    const valid = evaluate(part, value, run) && run.limit === undefined;
    budget.checkSteps -= steps - Math.max(0, run.stepsLeft);
    return valid;
  }

  matchesPattern(pattern: string, name: string): boolean {
    return this.#options.budget.patterns.matches(pattern, name);
  }

  spend(work: number): void {
    this.#options.budget.draws -= work;
  }

  draw(parts: readonly Part[], place: ValuePlace): JsonValue | undefined {
    this.#drawn++;
    if (--this.#options.budget.draws < 0 || place.depth > MAX_DEPTH) return undefined;
    const given = this.#findGiven(parts, place);
    if (given !== undefined) return given;
    const isDeep = this.#drawn > MANY_DRAWS || place.depth > this.#options.maxDepth || isOnTrail(parts, place.trail);
    let best: JsonValue | undefined;
    let tries = 1;
    for (let attempt = 0; attempt < tries; attempt++) {
      const turn = attempt + this.#options.attempt;
      const mode = { attempt: turn, isMinimal: isDeep || turn % 3 === 2 };
      const constraints = this.#options.reader.findCached(parts) ?? this.#readConstraints(parts, place, mode);
      if (constraints?.hasChoices !== false || constraints.needsCheck)
        tries = Math.max(tries, constraints === undefined ? USUAL_TRIES : this.#countTries(parts));
      const inner = attempt === 0 ? place : { ...place, random: place.random.branch(attempt) };
      const value = constraints && this.#drawValue(constraints, { parts, place: inner, mode });
      if (value === undefined) continue;
      if (constraints?.needsCheck !== true || parts.every((part) => this.matchesSchema(part, value))) return value;
      best ??= value;
    }
    return best;
  }

  #readConstraints(parts: readonly Part[], { random }: ValuePlace, mode: DrawMode): Constraints | undefined {
    const { reader } = this.#options;
    const before = reader.visits;
    const constraints = reader.read(parts, { ...mode, start: random.branch("branch").integer(0, 1_000) });
    this.spend((reader.visits - before) / VISITS_PER_DRAW);
    return constraints;
  }

  #drawText(constraints: Constraints, place: ValuePlace): string | undefined {
    const { random, given } = place;
    const worked = place.depth === 0 && constraints.format === undefined ? givenExpressionResult(given) : undefined;
    if (worked !== undefined) return String(worked);
    const description = descriptionOf(constraints, place);
    const named = nameWithOwner(place, this.subject);
    const topic = describedThingTopic(place, findTopic(place.ownerName) ?? this.#options.topic);
    const parsedDescription = parseDescription(description);
    const text = plausibleString(constraints, { name: named, description, parsedDescription, topic }, random, this.#options.budget);
    this.spend((text?.length ?? 0) / CHARACTERS_PER_DRAW);
    if (text === undefined) return undefined;
    const moved = moveInTime(text, { parsedDescription, place });
    return moved === text || constraints.patterns.every((pattern) => this.matchesPattern(pattern, moved)) ? moved : text;
  }

  #drawNumber(constraints: Constraints, place: ValuePlace, whole: boolean): number | undefined {
    const { name, given, random, owner } = place;
    const worked = place.depth === 0 ? givenExpressionResult(given) : undefined;
    if (worked !== undefined && (!whole || Number.isInteger(worked))) return worked;
    const names = { name, parsedDescription: parseDescription(descriptionOf(constraints, place)) };
    const bounds = { ...numberBoundsOf(constraints), whole };
    const { minimum, maximum, aboveMinimum } = names.parsedDescription.bounds;
    const { least, most } = owner === undefined ? NO_BOUNDS : given.boundsOf(name);
    const low = Math.max(minimum, least === -Infinity && most > 0 && most < Infinity ? 0 : least);
    const high = Math.min(maximum, most);
    for (const [from, to] of [
      [low, high],
      [minimum, maximum],
    ] as const) {
      if (from > to || (from <= bounds.minimum && to >= bounds.maximum)) continue;
      const narrow = { ...bounds, minimum: Math.max(bounds.minimum, from), maximum: Math.min(bounds.maximum, to) };
      const isAbove = from > bounds.minimum ? aboveMinimum && from === minimum : bounds.aboveMinimum;
      const isBelow = to >= bounds.maximum && bounds.belowMaximum;
      const found = plausibleNumber(names, { ...narrow, aboveMinimum: isAbove, belowMaximum: isBelow }, random);
      if (found !== undefined) return found;
    }
    return plausibleNumber(names, bounds, random);
  }

  #countTries(parts: readonly Part[]): number {
    let branches = 0;
    for (const part of parts) if (part !== false) branches += part.inPlace.length;
    return Math.min(MAX_TRIES, Math.max(USUAL_TRIES, branches + 2));
  }

  #findGiven(parts: readonly Part[], { name, given, owner }: ValuePlace): JsonValue | undefined {
    if (owner === undefined || this.#options.attempt > 2) return undefined;
    const found = given.find(name, owner === "subject") ?? given.findSynonym(name);
    if (found === undefined) return owner === "subject" && isStateName(name) ? this.#findState(parts) : undefined;
    for (const value of equivalentValues(found))
      if (parts.length > 0 && parts.every((part) => this.matchesSchema(part, value))) return value;
    return parts.length === 0 ? found : undefined;
  }

  #findState(parts: readonly Part[]): JsonValue | undefined {
    return this.subject?.states?.find((state) => parts.length > 0 && parts.every((part) => this.matchesSchema(part, state)));
  }

  #drawValue(
    constraints: Constraints,
    at: { readonly parts: readonly Part[]; readonly place: ValuePlace; readonly mode: DrawMode },
  ): JsonValue | undefined {
    const { parts, place, mode } = at;
    const { choices, exampleValues } = constraints;
    if (choices !== undefined) return this.#drawChoice(choices, at);
    if (mode.attempt < 2 && exampleValues.length > 0) {
      const example = place.random.branch("shown").pick(exampleValues);
      if (parts.every((part) => this.matchesSchema(part, example))) return example;
    }
    const described = mode.attempt < 2 ? this.#drawDescribedChoice(constraints, at) : undefined;
    if (described !== undefined) return described;
    const type = chooseType(constraints, place, mode);
    switch (type) {
      case TYPE_BIT.object:
        return drawObject(constraints, withTrail(place, parts), { context: this, mode });
      case TYPE_BIT.array:
        return drawArray(constraints, withTrail(place, parts), { context: this, mode });
      case TYPE_BIT.string:
        return this.#drawText(constraints, place);
      case TYPE_BIT.integer:
      case TYPE_BIT.fraction:
        return this.#drawEdge(constraints, at) ?? this.#drawNumber(constraints, place, type === TYPE_BIT.integer);
      case TYPE_BIT.boolean:
        return drawBoolean(place);
      default:
        return type === TYPE_BIT.null ? null : undefined;
    }
  }

  /** Returns a matching number for a schema that no plausible one has satisfied. */
  #drawEdge(
    constraints: Constraints,
    { parts, place, mode }: { readonly parts: readonly Part[]; readonly place: ValuePlace; readonly mode: DrawMode },
  ): number | undefined {
    const number = mode.attempt > 2 ? edgeNumber(constraints, mode.attempt, place.random) : undefined;
    return number !== undefined && parts.every((part) => this.matchesSchema(part, number)) ? number : undefined;
  }

  /** Returns a matching value among the choices in the description. */
  #drawDescribedChoice(
    constraints: Constraints,
    { parts, place }: { readonly parts: readonly Part[]; readonly place: ValuePlace },
  ): JsonValue | undefined {
    const description = constraints.format === undefined ? descriptionOf(constraints, place) : "";
    if (description === "") return undefined;
    const { choices: all, separator, type } = parseDescription(description);
    const good = all.filter((choice) => !FAILED.test(choice.text));
    const choices = good.length > 0 ? good : all;
    const isWhole = separator === undefined && (type !== "array" || constraints.types !== -1 || place.hint !== "");
    if (choices.length === 0 || !isWhole) return undefined;
    const start = place.random.branch("told").integer(0, choices.length - 1);
    for (let step = 0; step < choices.length; step++) {
      const choice = choices[(start + step) % choices.length];
      for (const value of choice === undefined ? [] : literalValues(choice, constraints.types))
        if (parts.every((part) => this.matchesSchema(part, value))) return value;
    }
    return undefined;
  }

  #drawChoice(
    choices: readonly JsonValue[],
    { parts, place, mode }: { readonly parts: readonly Part[]; readonly place: ValuePlace; readonly mode: DrawMode },
  ): JsonValue | undefined {
    const start = place.random.integer(0, Math.max(0, choices.length - 1)) + mode.attempt;
    for (let step = 0; step < Math.min(choices.length, 200); step++) {
      const choice = choices[(start + step) % choices.length];
      if (choice !== undefined && parts.every((part) => this.matchesSchema(part, choice))) return choice;
    }
    return choices[0];
  }
}

function withTrail(place: ValuePlace, parts: readonly Part[]): ValuePlace {
  return { ...place, trail: { parts, outer: place.trail } };
}

function numberBoundsOf({
  minimum,
  maximum,
  aboveMinimum,
  belowMaximum,
  multiplesOf,
}: Constraints): Omit<Parameters<typeof plausibleNumber>[1], "whole"> {
  return { minimum, maximum, aboveMinimum, belowMaximum, multiplesOf };
}

/** Choices that mean failure: of "success or failed", the success is drawn. */
const FAILED = /^(?:fail(?:ed|ure)?|errors?|unsuccessful)$/iu;
const NO_BOUNDS = { least: -Infinity, most: Infinity };
/** Names that are ambiguous without the noun of the thing they belong to. */
const BARE = new Set(["name", "code", "number", "from", "to"]);

const QUERY = /^(?:query|q|search|keywords?|term|search_term|search_query)$/u;

function nameWithOwner({ name, ownerName }: ValuePlace, subject: Subject | undefined): string {
  const plain = normalizeName(name);
  const owner = ownerName === "" || (isGenericItemName(ownerName) && subject !== undefined) ? (subject?.noun ?? "") : ownerName;
  if (plain === "name" && isPersonNoun(owner)) return "full_name";
  if (plain === "full_name" && owner !== "" && !isPersonNoun(owner) && findTopic(owner) !== undefined) return `${owner}_name`;
  if (QUERY.test(plain) && subject !== undefined && isPersonNoun(subject.noun)) return "full_name";
  return ownerName !== "" && BARE.has(plain) ? `${ownerName}_${name}` : name;
}

const OF_ITSELF = /(?:description|summary|overview|synopsis|bio|about)$/u;
const MAX_CALLED = 60;

/** Makes a named thing the topic of a text that describes it. */
function describedThingTopic({ name, ownerTitle }: ValuePlace, topic: Topic | undefined): Topic | undefined {
  if (ownerTitle === undefined || ownerTitle.length > MAX_CALLED || !OF_ITSELF.test(normalizeName(name))) return topic;
  return { words: [], noun: topic?.noun ?? "", things: [ownerTitle], named: undefined };
}

const CERTAIN = /^(?:success|ok|succeeded|successful)$/u;
const NEGATIVE =
  /^(?:is_)?(?:all_day|incomplete|incomplete_results|deleted|error|failed|blocked|banned|expired|cancell?ed|locked|archived|disabled|has_error)/u;

/** Returns true for most flags, except those that say something is wrong. */
function drawBoolean({ name, random }: ValuePlace): boolean {
  if (CERTAIN.test(name)) return true;
  return random.next() < (NEGATIVE.test(name) ? 0.1 : 0.8);
}

const ALL_TYPES = [TYPE_BIT.object, TYPE_BIT.string, TYPE_BIT.integer, TYPE_BIT.array, TYPE_BIT.boolean, TYPE_BIT.fraction, TYPE_BIT.null];

/** Returns the type to draw: the type that the keywords are about, null last, then the others in turn if attempts fail. */
function chooseType(constraints: Constraints, place: ValuePlace, { attempt, isMinimal }: DrawMode): number | undefined {
  const { depth } = place;
  if ((constraints.types & (constraints.types - 1)) === 0) return constraints.types === 0 ? undefined : constraints.types; // a single type
  const allowed = ALL_TYPES.filter((type) => (constraints.types & type) !== 0);
  const isNumber = (constraints.types & TYPE_BIT.fraction) !== 0;
  const usual = allowed.filter((type) => type !== TYPE_BIT.null && !(type === TYPE_BIT.integer && isNumber && constraints.types !== -1));
  const list = usual.length === 0 ? allowed : isMinimal && usual.length < allowed.length && depth > 2 ? [TYPE_BIT.null, ...usual] : usual;
  if (attempt > 2) {
    const turned = [...list, ...allowed.filter((type) => !list.includes(type))];
    return turned[attempt % turned.length];
  }
  const wantedType = list.find((type) => constrainsType(constraints, type));
  if (wantedType !== undefined) return wantedType;
  if (constraints.types !== -1) return list[attempt % list.length];
  return depth === 0 ? TYPE_BIT.object : typeFromDescription(place, parseDescription(descriptionOf(constraints, place)));
}

/** Returns the type of a value without a schema type, by its description and name. */
function typeFromDescription({ name, hint }: ValuePlace, parsedDescription: ParsedDescription): number {
  const shown = parsedDescription.defaultValue ?? (parsedDescription.type === "boolean" ? undefined : parsedDescription.examples[0]);
  const isQuoted = shown?.quoted === true;
  const bare = shown === undefined || isQuoted ? undefined : literalValues(shown, -1).next().value;
  if (parsedDescription.type === "array" && hint === "" && !isQuoted) return TYPE_BIT.array;
  const isFlag = parsedDescription.type === "boolean" || (isFlagName(name) && parsedDescription.examples.length === 0);
  if (typeof bare === "boolean" || (isFlag && !isQuoted && typeof bare !== "number")) return TYPE_BIT.boolean;
  if (parsedDescription.mask !== undefined || parsedDescription.separator !== undefined) return TYPE_BIT.string;
  const isNumber =
    typeof bare === "number" ||
    (!isQuoted &&
      (parsedDescription.type === "number" ||
        Number.isFinite(parsedDescription.bounds.maximum - parsedDescription.bounds.minimum) ||
        (parsedDescription.unit !== "" && !/(?:units?|format)$/u.test(parsedDescription.noun))));
  if (!isNumber && !(shown === undefined && /(?:count|total|price|amount|number|page)$/iu.test(name) && parsedDescription.noun === ""))
    return TYPE_BIT.string;
  return Number.isInteger(bare) || isIntegerByName({ name, parsedDescription }) ? TYPE_BIT.integer : TYPE_BIT.fraction;
}

/** Returns the description of the value, else that of the array it is an item of. */
function descriptionOf({ description }: Constraints, { hint }: ValuePlace): string {
  return description === "" ? hint : description;
}

function constrainsType(constraints: Constraints, type: number): boolean {
  if (constraints.exampleValues.some((value) => typeBitOf(value) === type)) return true;
  if (type === TYPE_BIT.object)
    return (
      constraints.propertyRules.length > 0 ||
      constraints.required.size > 0 ||
      constraints.minProperties > 0 ||
      constraints.otherProperties.length > 0
    );
  if (type === TYPE_BIT.array)
    return (
      constraints.itemRules.length > 0 || constraints.minItems > 0 || constraints.contains.length > 0 || constraints.otherItems.length > 0
    );
  if (type === TYPE_BIT.string) return constraints.patterns.length > 0 || constraints.format !== undefined || constraints.minLength > 0;
  if (type === TYPE_BIT.integer || type === TYPE_BIT.fraction)
    return constraints.multiplesOf.length > 0 || constraints.minimum !== -Infinity || constraints.maximum !== Infinity;
  return false;
}
