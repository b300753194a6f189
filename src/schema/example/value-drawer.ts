/** Draws values for the places of one example, within one budget. */
import type { JsonValue } from "../../core/base/json.ts";
import { ValidationRun } from "../compiled-schema.ts";
import { evaluate } from "../evaluate.ts";
import { MAX_STEPS } from "../schema-limits.ts";
import { type Demand, type Part, TYPE_BIT, typeBitOf } from "./demand.ts";
import type { Choosing, DemandReader } from "./demand-reader.ts";
import { drawArray } from "./draw-array.ts";
import { drawObject } from "./draw-object.ts";
import { type Drawing, type Manner, type Place, isOnTrail } from "./drawing.ts";
import { onDays } from "./date-text.ts";
import { type Subject, isState, spellings } from "./given.ts";
import { plainName } from "./name-words.ts";
import { plausibleNumber } from "./plausible-number.ts";
import { plausibleString } from "./plausible-string.ts";

/** Values that may be drawn for one example, thrown away ones included. */
const MAX_DRAWS = 20_000;
/** Beyond as many values only what must be there is drawn. */
const MANY_DRAWS = 600;
/** Steps of validation for one example, in all. */
const MAX_CHECK_STEPS = 400_000;
const STEPS_PER_CHECK = 50_000;
const VISITS_PER_DRAW = 10;
const CHARACTERS_PER_DRAW = 64;
const MAX_TRIES = 24;
const USUAL_TRIES = 8;
/** Deepest place at all. */
const MAX_DEPTH = 60;

export interface Budget {
  draws: number;
  checkSteps: number;
  /** Steps for the checks of the whole value. */
  finalSteps: number;
}

export function newBudget(): Budget {
  return { draws: MAX_DRAWS, checkSteps: MAX_CHECK_STEPS, finalSteps: 2 * MAX_STEPS };
}

export interface DrawerOptions {
  readonly reader: DemandReader;
  readonly budget: Budget;
  readonly maxDepth: number;
  readonly maxItems: number;
  readonly subject: Subject | undefined;
  /** Which draw of the whole value this is, from 0. */
  readonly attempt: number;
}

export class ValueDrawer implements Drawing {
  readonly maxItems: number;
  readonly subject: Subject | undefined;
  readonly #options: DrawerOptions;
  #drawn = 0;

  constructor(options: DrawerOptions) {
    this.#options = options;
    this.maxItems = options.maxItems;
    this.subject = options.subject;
  }

  part(raw: unknown): Part | undefined {
    return this.#options.reader.part(raw);
  }

  fits(part: Part, value: JsonValue): boolean {
    const { budget } = this.#options;
    if (part === false || budget.checkSteps <= 0) return false;
    const steps = Math.min(STEPS_PER_CHECK, budget.checkSteps);
    const run = new ValidationRun(steps, 0);
    const valid = evaluate(part, value, run) && run.limit === undefined;
    budget.checkSteps -= steps - Math.max(0, run.stepsLeft);
    return valid;
  }

  spend(work: number): void {
    this.#options.budget.draws -= work;
  }

  draw(parts: readonly Part[], place: Place): JsonValue | undefined {
    this.#drawn++;
    if (--this.#options.budget.draws < 0 || place.depth > MAX_DEPTH) return undefined;
    const given = this.#given(parts, place);
    if (given !== undefined) return given;
    const isDeep = this.#drawn > MANY_DRAWS || place.depth > this.#options.maxDepth || isOnTrail(parts, place.trail);
    let best: JsonValue | undefined;
    let tries = 1;
    for (let attempt = 0; attempt < tries; attempt++) {
      const choosing = this.#choosing(place, attempt, isDeep);
      const demand = this.#read(parts, choosing);
      if (demand?.choosing !== false || demand.needsCheck) tries = Math.max(tries, demand === undefined ? USUAL_TRIES : this.#tries(parts));
      const inner = { ...place, random: attempt === 0 ? place.random : place.random.branch(attempt), trail: { parts, outer: place.trail } };
      const value = demand && this.#value(demand, { parts, place: inner, manner: { attempt: choosing.attempt, lean: choosing.lean } });
      if (value === undefined) continue;
      if (demand?.needsCheck !== true || parts.every((part) => this.fits(part, value))) return value;
      best ??= value;
    }
    return best;
  }

  #read(parts: readonly Part[], choosing: Choosing): Demand | undefined {
    const { reader } = this.#options;
    const before = reader.visits;
    const demand = reader.read(parts, choosing);
    this.spend((reader.visits - before) / VISITS_PER_DRAW);
    return demand;
  }

  #text(demand: Demand, place: Place): string | undefined {
    const { name, random, given } = place;
    const text = plausibleString(demand, { name: fullName(place), description: demand.description }, random);
    this.spend((text?.length ?? 0) / CHARACTERS_PER_DRAW);
    const days = text === undefined || demand.patterns.length > 0 ? undefined : given.daysFor(name);
    return text === undefined || days === undefined ? text : onDays(text, days);
  }

  #number(demand: Demand, { name, given, random, owner }: Place, whole: boolean): number | undefined {
    const bounds = { ...boundsOf(demand), whole };
    const { least, most } = owner === undefined ? NO_BOUNDS : given.boundsOf(name);
    const isNarrower = least <= most && (least > bounds.minimum || most < bounds.maximum);
    const low = Math.max(bounds.minimum, least === -Infinity && most > 0 ? 0 : least);
    const narrow = isNarrower
      ? plausibleNumber(name, { ...bounds, minimum: low, maximum: Math.min(bounds.maximum, most) }, random)
      : undefined;
    return narrow ?? plausibleNumber(name, bounds, random);
  }

  #tries(parts: readonly Part[]): number {
    let branches = 0;
    for (const part of parts) if (part !== false) branches += part.inPlace.length;
    return Math.min(MAX_TRIES, Math.max(USUAL_TRIES, branches + 2));
  }

  #choosing(place: Place, attempt: number, isDeep: boolean): Choosing {
    const turn = attempt + this.#options.attempt;
    return { attempt: turn, start: place.random.branch("branch").integer(0, 1_000), lean: isDeep || turn % 3 === 2 };
  }

  #given(parts: readonly Part[], { name, given, owner }: Place): JsonValue | undefined {
    if (owner === undefined || this.#options.attempt > 2) return undefined;
    const found = given.find(name, owner === "subject") ?? given.findAlike(name);
    if (found === undefined) return owner === "subject" && isState(name) ? this.#state(parts) : undefined;
    for (const value of spellings(found)) if (parts.length > 0 && parts.every((part) => this.fits(part, value))) return value;
    return parts.length === 0 ? found : undefined;
  }

  #state(parts: readonly Part[]): JsonValue | undefined {
    return this.subject?.states?.find((state) => parts.length > 0 && parts.every((part) => this.fits(part, state)));
  }

  #value(demand: Demand, at: { readonly parts: readonly Part[]; readonly place: Place; readonly manner: Manner }): JsonValue | undefined {
    const { parts, place, manner } = at;
    const { choices, shown } = demand;
    if (choices !== undefined) return this.#choice(choices, at);
    if (manner.attempt < 2 && shown.length > 0) {
      const example = place.random.branch("shown").pick(shown);
      if (parts.every((part) => this.fits(part, example))) return example;
    }
    const type = typeFor(demand, place, manner);
    switch (type) {
      case TYPE_BIT.object:
        return drawObject(demand, place, { drawing: this, manner });
      case TYPE_BIT.array:
        return drawArray(demand, place, { drawing: this, manner });
      case TYPE_BIT.string:
        return this.#text(demand, place);
      case TYPE_BIT.integer:
      case TYPE_BIT.fraction:
        return this.#number(demand, place, type === TYPE_BIT.integer);
      case TYPE_BIT.boolean:
        return booleanFor(place);
      default:
        return type === TYPE_BIT.null ? null : undefined;
    }
  }

  #choice(
    choices: readonly JsonValue[],
    { parts, place, manner }: { readonly parts: readonly Part[]; readonly place: Place; readonly manner: Manner },
  ): JsonValue | undefined {
    const start = place.random.integer(0, Math.max(0, choices.length - 1)) + manner.attempt;
    for (let step = 0; step < Math.min(choices.length, 200); step++) {
      const choice = choices[(start + step) % choices.length];
      if (choice !== undefined && parts.every((part) => this.fits(part, choice))) return choice;
    }
    return choices[0];
  }
}

function boundsOf({
  minimum,
  maximum,
  aboveMinimum,
  belowMaximum,
  multiplesOf,
}: Demand): Omit<Parameters<typeof plausibleNumber>[1], "whole"> {
  return { minimum, maximum, aboveMinimum, belowMaximum, multiplesOf };
}

const NO_BOUNDS = { least: -Infinity, most: Infinity };
/** Names that say nothing without the thing they belong to. */
const BARE = new Set(["name", "code", "number", "from", "to"]);

function fullName({ name, whose }: Place): string {
  if (whose === "user" && plainName(name) === "name") return "full_name";
  return whose !== "" && BARE.has(plainName(name)) ? `${whose}_${name}` : name;
}

const CERTAIN = /^(?:success|ok|succeeded|successful)$/u;
const NEGATIVE =
  /^(?:is_)?(?:all_day|incomplete|incomplete_results|deleted|error|failed|blocked|banned|expired|cancell?ed|locked|archived|disabled|has_error)/u;

/** Flags are mostly set, but for those that say something went wrong. */
function booleanFor({ name, random }: Place): boolean {
  if (CERTAIN.test(name)) return true;
  return random.next() < (NEGATIVE.test(name) ? 0.1 : 0.8);
}

const ALL_TYPES = [TYPE_BIT.object, TYPE_BIT.string, TYPE_BIT.integer, TYPE_BIT.array, TYPE_BIT.boolean, TYPE_BIT.fraction, TYPE_BIT.null];

/** The type to draw: the one that the keywords speak of at first, null last, and each in turn where attempts fail. */
function typeFor(demand: Demand, { name, depth }: Place, { attempt, lean }: Manner): number | undefined {
  const allowed = ALL_TYPES.filter((type) => (demand.types & type) !== 0);
  const isNumber = (demand.types & TYPE_BIT.fraction) !== 0;
  const usual = allowed.filter((type) => type !== TYPE_BIT.null && !(type === TYPE_BIT.integer && isNumber && demand.types !== -1));
  const list = usual.length === 0 ? allowed : lean && usual.length < allowed.length && depth > 2 ? [TYPE_BIT.null, ...usual] : usual;
  if (attempt > 2) {
    const turned = [...list, ...allowed.filter((type) => !list.includes(type))];
    return turned[attempt % turned.length];
  }
  const told = list.find((type) => speaksOf(demand, type));
  if (told !== undefined) return told;
  if (demand.types !== -1) return list[attempt % list.length];
  return depth === 0 ? TYPE_BIT.object : /(?:count|total|price|amount|number|page)$/iu.test(name) ? TYPE_BIT.integer : TYPE_BIT.string;
}

function speaksOf(demand: Demand, type: number): boolean {
  if (demand.shown.some((value) => typeBitOf(value) === type)) return true;
  if (type === TYPE_BIT.object)
    return demand.propertyRules.length > 0 || demand.required.size > 0 || demand.minProperties > 0 || demand.otherProperties.length > 0;
  if (type === TYPE_BIT.array)
    return demand.itemRules.length > 0 || demand.minItems > 0 || demand.contains.length > 0 || demand.otherItems.length > 0;
  if (type === TYPE_BIT.string) return demand.patterns.length > 0 || demand.format !== undefined || demand.minLength > 0;
  if (type === TYPE_BIT.integer || type === TYPE_BIT.fraction)
    return demand.multiplesOf.length > 0 || demand.minimum !== -Infinity || demand.maximum !== Infinity;
  return false;
}
