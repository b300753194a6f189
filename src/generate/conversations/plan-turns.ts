/** Plans the turns of a sampled conversation: which calls each has, what the user says, and what results give. */
import { getOrAdd } from "../../core/base/get-or-add.ts";
import type { ToolCall } from "../../core/call.ts";
import { copyJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Random } from "../../core/ports.ts";
import { seededRandom } from "../../core/base/seeded-random.ts";
import type { ToolResult } from "../../core/result.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { isPromiseLike } from "../../policy/attempts/deadline.ts";
import { readParsed, readProblems } from "../../registry/check-input.ts";
import { toolSubject } from "./tool-subject.ts";
import { compileSchema, type Validator } from "../../schema/compile-schema.ts";
import { topicText } from "../../schema/example/topics.ts";
import { exampleValue } from "../../schema/example/example-value.ts";
import type { CatalogTool } from "../catalog.ts";
import type { PlannedCall, TakenValue } from "./conversation-writer.ts";
import { inputParameters } from "../tool-parameters.ts";
import { own } from "../../core/base/own.ts";
import { isIdName } from "./id-names.ts";
import { isVoid } from "./words/value-words.ts";
import { KnownValues, type KnownValue } from "./known-values.ts";
import type { FlowInput, ToolFlow } from "./tool-flow.ts";
import { plainName } from "../../schema/example/name-words.ts";

/** A call that may still want values of earlier calls of its turn. */
export interface DraftCall extends PlannedCall {
  /** Its id in the catalog. */
  readonly id: string;
  /** Whole but for the values that are still to come, which are examples. */
  readonly input: JsonObject;
  /** Inputs that a result of the same turn gives. */
  readonly awaited: readonly FlowInput[];
}

export interface TurnPlannerOptions {
  /** In the order of their calls. */
  readonly tools: readonly CatalogTool[];
  /** How many calls in all. */
  readonly count: number;
  readonly random: Random;
  readonly flow: ToolFlow;
  /** Whether a message may have several calls. */
  readonly parallelCalls: boolean;
}

/** Most calls that one turn asks for. */
const MAX_IN_TURN = 3;
const CHAINED = 0.55;
const PARALLEL = 0.3;
/** Of values that are no ids, those that are taken over rather than said again. */
const SAME_AGAIN = 0.8;
/** Of properties that need not be there, those that are left out. */
const LEFT_OUT = 0.45;

export class TurnPlanner {
  readonly #options: TurnPlannerOptions;
  readonly #known = new KnownValues();
  /** Of the tools in turn, the next. */
  #next = 0;
  #made = 0;

  constructor(options: TurnPlannerOptions) {
    this.#options = options;
  }

  /** The calls of the next turn; none when there are enough, or none can be made. */
  next(): readonly DraftCall[] {
    const { tools, count, random } = this.#options;
    const drafts: DraftCall[] = [];
    const most = Math.min(MAX_IN_TURN, count - this.#made);
    for (let tries = tools.length; drafts.length < most && (drafts.length > 0 || tries > 0); tries--) {
      const tool = tools[this.#next % tools.length];
      if (tool === undefined) break;
      const joins = drafts.length === 0 ? "first" : this.#joins(tool, drafts);
      if (joins === undefined) break;
      this.#next++;
      const draft = this.#draft(tool, { earlier: drafts, parallel: joins === "parallel" });
      if (draft !== undefined) drafts.push(draft);
      else if (drafts.length > 0) break;
      if (random.next() < 1 / 3 && drafts.length > 0 && joins !== "first") break;
    }
    return drafts;
  }

  /** How the tool goes with the calls of the turn; undefined where it is left to the next. */
  #joins({ id, tool }: CatalogTool, drafts: readonly DraftCall[]): "chained" | "parallel" | undefined {
    const { flow, random } = this.#options;
    if (drafts.some((draft) => draft.id === id)) return undefined;
    if (refundIn(tool) !== undefined) return undefined; // what was paid is known when the turn is over
    const isFed = flow.inputsOf(id).some((input) => drafts.some((draft) => flow.fieldFor(draft.id, input) !== undefined));
    const isAllParallel = drafts.every(({ awaited }) => awaited.length === 0);
    const roll = random.next();
    if (isFed) return roll < CHAINED ? "chained" : undefined;
    return isAllParallel && roll < PARALLEL ? "parallel" : undefined;
  }

  /** Undefined for a tool that no input can be made up for. */
  #draft(
    { id, qualifiedName, tool }: CatalogTool,
    place: { readonly earlier: readonly DraftCall[]; readonly parallel: boolean },
  ): DraftCall | undefined {
    const { random, flow, parallelCalls } = this.#options;
    const drawn = drawInput(tool, random);
    if (drawn === undefined) return undefined;
    const inputs = new Map(flow.inputsOf(id).map((input) => [input.name, input]));
    const taken: Record<string, TakenValue> = {};
    const awaited: FlowInput[] = [];
    let input: JsonObject = drawn;
    for (const name of Object.keys(drawn)) {
      const flowing = inputs.get(name);
      if (flowing === undefined) continue;
      const giver = place.parallel ? undefined : place.earlier.findLast((draft) => flow.fieldFor(draft.id, flowing) !== undefined);
      if (giver !== undefined) {
        const field = flow.fieldFor(giver.id, flowing);
        taken[name] = { noun: field?.noun ?? "", ofList: field?.ofList ?? false, isId: flowing.isId };
        awaited.push(flowing);
        continue;
      }
      const known = this.#known.find(flowing);
      if (known === undefined || (!flowing.isId && random.next() >= SAME_AGAIN)) continue;
      const fitted = withValue(tool, { input, name, known });
      if (fitted === undefined) continue;
      input = fitted;
      taken[name] = { ...known, isId: flowing.isId };
    }
    input = this.#withinPaid(tool, input);
    const given = Object.fromEntries(Object.entries(input).filter(([name]) => !Object.hasOwn(taken, name)));
    return { id, tool, qualifiedName, given, taken, parallel: place.parallel && parallelCalls, input, awaited };
  }

  /** A refund is no larger than what was paid for the thing that it names. */
  #withinPaid(tool: Tool, input: JsonObject): JsonObject {
    const name = refundIn(tool);
    const amount = name === undefined ? undefined : input[name];
    if (name === undefined || (typeof amount !== "number" && typeof amount !== "string")) return input;
    const paid = Object.entries(input).flatMap(([key, value]) =>
      isIdName(key) && (typeof value === "string" || typeof value === "number") ? (this.#known.paidFor(value) ?? []) : [],
    );
    const [most] = paid;
    if (most === undefined || !(Number(amount) > most)) return input;
    return withValue(tool, { input, name, known: { value: most, noun: "", ofList: false } }) ?? input;
  }

  /** The call with the values that it has waited for; undefined where they have not come. */
  callOf(draft: DraftCall, results: readonly DraftResult[]): DraftedCall | undefined {
    let { input } = draft;
    if (draft.awaited.length > 0) {
      const own = new KnownValues();
      for (const { id, result } of results) own.learnResult(id, result);
      for (const flowing of draft.awaited) {
        const known = own.find(flowing);
        const fitted = known === undefined ? undefined : withValue(draft.tool, { input, name: flowing.name, known });
        if (fitted === undefined) return undefined;
        input = fitted;
      }
    }
    this.#made++;
    return { name: draft.qualifiedName, input };
  }

  /** Later turns can ask about the values that were said and answered. */
  learn(drafts: readonly DraftCall[], results: readonly DraftResult[]): void {
    for (const { qualifiedName, given } of drafts) this.#known.learnGiven(qualifiedName, given);
    for (const { id, result, input } of results) {
      this.#known.learnResult(id, result);
      if (result.status === "ok" && toolSubject(result.name).verb === "remove") this.#known.forget(result.name, input);
    }
  }

  get isDone(): boolean {
    return this.#made >= this.#options.count;
  }
}

/** A call with all its values. */
export interface DraftedCall extends ToolCall {
  readonly input: JsonObject;
}

/** A call of a draft with its result. */
export interface DraftResult {
  /** The id of its tool in the catalog. */
  readonly id: string;
  readonly input: JsonObject;
  readonly result: ToolResult;
}

const REFUND = /refund|reimburse|chargeback/iu;
const REFUNDED = /^(?:amount|refund|refund_amount|amount_refunded|total|value|sum)$/u;

/** People name few things at a time. */
const MAX_INPUT_ITEMS = 2;
const MAX_READ = 200;
/** How often an input is drawn that the tool's own rules refuse. */
const MAX_DRAWS = 100;
const refunds = new WeakMap<Tool, { readonly input: string | undefined }>();

/** The input that holds the amount of a refund; undefined for any other tool. */
function refundIn(tool: Tool): string | undefined {
  return getOrAdd(refunds, tool, () => ({ input: readRefund(tool) })).input;
}

function readRefund({ name: toolName, description, inputSchema }: Tool): string | undefined {
  if (!REFUND.test(toolName) && !REFUND.test(description.slice(0, MAX_READ))) return undefined;
  return inputParameters(inputSchema).find(({ name }) => REFUNDED.test(plainName(name)))?.name;
}

const validators = new WeakMap<object, Validator>();

function fits(schema: JsonSchema, input: JsonObject): boolean {
  if (typeof schema !== "object") return schema;
  return getOrAdd(validators, schema, () => compileSchema(schema)).check(input);
}

/**
 * Whether the tool's own rules, of which its schema says nothing, let the input pass, as a call reads their answer. Rules that are broken refuse
 * every call; those of `parseInput` that answer later are taken to let it pass.
 */
function isAllowed({ validate, parseInput }: Tool, input: JsonObject): boolean {
  if (validate === undefined && parseInput === undefined) return true;
  try {
    const given = copyJson(input).value as JsonObject; // frozen, as a call gives it: rules that change it would change the data
    if (validate !== undefined && readProblems(validate(given)).length > 0) return false;
    if (parseInput === undefined) return true;
    const parsed = parseInput(given);
    if (!isPromiseLike(parsed)) return !("issues" in readParsed(parsed, "input"));
    late.add(parseInput);
    void Promise.resolve(parsed).then(undefined, () => {}); // the call says what is wrong
    return true;
  } catch {
    return false;
  }
}

/** The input with a known value in it, spelled as the schema wants it. */
function withValue(
  tool: Tool,
  { input, name, known: { value } }: { readonly input: JsonObject; readonly name: string; readonly known: KnownValue },
): JsonObject | undefined {
  const isNumber = typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,6})?$/u.test(value) && String(Number(value)) === value; // not 007
  const spellings: readonly JsonValue[] = isJsonArray(input[name])
    ? [[value], [String(value)]]
    : [value, ...(typeof value === "number" ? [String(value)] : isNumber ? [Number(value)] : [])];
  for (const spelling of spellings) {
    const changed = { ...input, [name]: spelling };
    if (fits(tool.inputSchema, changed) && isAllowed(tool, changed)) return changed;
  }
  return undefined;
}

/** Nothing, for a tool that takes nothing or does not say what; undefined where no value fits. */
function drawInput(tool: Tool, random: Random): JsonObject | undefined {
  const { inputSchema } = tool;
  if (typeof inputSchema !== "object") return {};
  const { isDeclaring, subject, about } = getOrAdd(inputFacts, tool, () => readInputFacts(tool, inputSchema));
  try {
    if (!isDeclaring && fits(inputSchema, {}) && isAllowed(tool, {})) return {};
    for (let tries = 0; tries < MAX_DRAWS; tries++) {
      const { value, valid } = exampleValue(inputSchema, { random, subject, maxItems: MAX_INPUT_ITEMS, about });
      if (!valid || !isJsonObject(value) || !fits(inputSchema, value)) return undefined;
      const input = withoutSome(inputSchema, value, random);
      if (isAllowed(tool, input)) return input;
    }
    return undefined;
  } catch {
    return undefined; // a schema that cannot be used
  }
}

interface InputFacts {
  readonly isDeclaring: boolean;
  readonly subject: { readonly noun: string };
  readonly about: string;
}

/** So many draws fail before a tool counts as one that cannot be called. */
const TRIALS = ["first", "second", "third"];
const callable = new WeakMap<Tool, boolean>();

/** Whether an input can be made up for the tool. */
export function canBeCalled(tool: Tool): boolean {
  return getOrAdd(callable, tool, () => TRIALS.some((trial) => drawInput(tool, seededRandom(trial)) !== undefined));
}

/** Each `parseInput` that has answered by a promise. */
const late = new WeakSet<object>();

/** Whether the rules of a tool answer later: known once an input was made up for it. */
export function answersLater({ parseInput }: Tool): boolean {
  return parseInput !== undefined && late.has(parseInput);
}

const inputFacts = new WeakMap<Tool, InputFacts>();

function readInputFacts(tool: Tool, schema: object): InputFacts {
  const { noun } = toolSubject(tool.name);
  return { isDeclaring: isDeclaring(schema), subject: { noun }, about: topicText(tool, noun) };
}

/** People do not say everything that can be said. */
function withoutSome(schema: JsonSchema, input: JsonObject, random: Random): JsonObject {
  const required =
    typeof schema === "object" && Array.isArray(schema["required"]) ? new Set<unknown>(schema["required"]) : new Set<unknown>();
  const kept = Object.entries(input).filter(([name, value]) => {
    const isSaid = random.next() >= LEFT_OUT;
    return required.has(name) || (isSaid && !isUnsaid(schema, name, value));
  });
  const [first] = Object.entries(input);
  const some = kept.length === 0 && first !== undefined && !isVoid(first[1]) ? [first] : kept;
  if (some.length === Object.keys(input).length) return input;
  const fewer = Object.fromEntries(some);
  return fits(schema, fewer) ? fewer : input;
}

/** Inputs that ask for a later part of a list; their values come from its first part. */
const LATER_PAGE =
  /^(?:page|page_?(?:number|no|num|index)|offset|skip|start_index|cursor|.*_cursor|.*page_token|continuation_token|starting_after|ending_before)$/u;

/** Users leave out empty values, defaults, and objects that may hold anything. */
function isUnsaid(schema: JsonSchema, name: string, value: JsonValue): boolean {
  if (isVoid(value)) return true;
  const property: unknown = typeof schema === "object" ? Object(own(Object(schema["properties"]), name)) : {};
  const { default: fallback, properties } = Object(property);
  if (LATER_PAGE.test(plainName(name))) return true;
  if (typeof value !== "number" && fallback !== undefined && JSON.stringify(fallback) === JSON.stringify(value)) return true;
  return isJsonObject(value) && properties === undefined;
}

/** `properties: {}` names no property, and an object that may hold anything is better left empty. */
function isDeclaring(schema: object): boolean {
  return Object.entries(schema).some(([keyword, value]) => DECLARING.has(keyword) && !(isEmpty(value) && NAMING.has(keyword)));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

const NAMING: ReadonlySet<string> = new Set(["properties", "required"]);
const DECLARING: ReadonlySet<string> = new Set([...NAMING, "$ref", "allOf", "anyOf", "oneOf", "const", "enum"]);
