/** Plans the turns of a sampled conversation: its calls, the values that the user states, and the values from results. */
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
import { withIdNames } from "../../engine/example/path-ids.ts";
import type { CatalogTool } from "../catalog.ts";
import type { PlannedCall, TakenValue } from "./conversation-writer.ts";
import { inputParameters } from "../tool-parameters.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { isIdName } from "./id-names.ts";
import { isEmptyValue } from "./words/format-value.ts";
import { KnownValues, type KnownValue } from "./known-values.ts";
import type { FlowInput, ToolFlow } from "./tool-flow.ts";
import { normalizeName } from "../../schema/example/name-words.ts";

/** A call that may still need values of earlier calls of its turn. */
export interface DraftCall extends PlannedCall {
  /** The tool's id in the catalog. */
  readonly id: string;
  /** The whole input; values that are still awaited are examples. */
  readonly input: JsonObject;
  /** Inputs whose values a result of the same turn provides. */
  readonly pendingInputs: readonly FlowInput[];
}

export interface TurnPlannerOptions {
  /** The tools in the order of their calls. */
  readonly tools: readonly CatalogTool[];
  /** Total number of calls. */
  readonly count: number;
  readonly random: Random;
  readonly flow: ToolFlow;
  /** Whether a message may have several calls. */
  readonly parallelCalls: boolean;
}

/** Maximum number of calls in one turn. */
const MAX_IN_TURN = 3;
const CHAINED_PROBABILITY = 0.55;
const PARALLEL_PROBABILITY = 0.3;
/** Probability that a known value that is not an id is used again. */
const REUSE_PROBABILITY = 0.8;
/** Probability that an optional property is left out. */
const OMISSION_PROBABILITY = 0.45;

export class TurnPlanner {
  readonly #options: TurnPlannerOptions;
  readonly #known = new KnownValues();
  /** Index of the next tool. */
  #next = 0;
  #callCount = 0;

  constructor(options: TurnPlannerOptions) {
    this.#options = options;
  }

  /** Returns the calls of the next turn; none if there are enough, or if none can be made. */
  next(): readonly DraftCall[] {
    const { tools, count, random } = this.#options;
    const drafts: DraftCall[] = [];
    const most = Math.min(MAX_IN_TURN, count - this.#callCount);
    for (let tries = tools.length; drafts.length < most && (drafts.length > 0 || tries > 0); tries--) {
      const tool = tools[this.#next % tools.length];
      if (tool === undefined) break;
      const joins = drafts.length === 0 ? "first" : this.#chooseJoin(tool, drafts);
      if (joins === undefined) break;
      this.#next++;
      const draft = this.#createDraft(tool, { earlier: drafts, parallel: joins === "parallel" });
      if (draft !== undefined) drafts.push(draft);
      else if (drafts.length > 0) break;
      if (random.next() < 1 / 3 && drafts.length > 0 && joins !== "first") break;
    }
    return drafts;
  }

  /** Returns how the tool's call joins the calls of the turn; undefined if it must be in the next one. */
  #chooseJoin({ id, tool }: CatalogTool, drafts: readonly DraftCall[]): "chained" | "parallel" | undefined {
    const { flow, random } = this.#options;
    if (drafts.some((draft) => draft.id === id)) return undefined;
    if (findRefundInput(tool) !== undefined) return undefined; // the amount paid is only known after the turn
    const isLinked = flow.inputsOf(id).some((input) => drafts.some((draft) => flow.findSourceField(draft.id, input) !== undefined));
    const isAllParallel = drafts.every(({ pendingInputs }) => pendingInputs.length === 0);
    const roll = random.next();
    if (isLinked) return roll < CHAINED_PROBABILITY ? "chained" : undefined;
    return isAllParallel && roll < PARALLEL_PROBABILITY ? "parallel" : undefined;
  }

  /** Returns the draft of a call; undefined if no input can be generated for the tool. */
  #createDraft(
    { id, qualifiedName, tool }: CatalogTool,
    place: { readonly earlier: readonly DraftCall[]; readonly parallel: boolean },
  ): DraftCall | undefined {
    const { random, flow, parallelCalls } = this.#options;
    const drawn = drawInput(tool, random);
    if (drawn === undefined) return undefined;
    const inputs = new Map(flow.inputsOf(id).map((input) => [input.name, input]));
    const taken: Record<string, TakenValue> = {};
    const pendingInputs: FlowInput[] = [];
    let input: JsonObject = drawn;
    for (const name of Object.keys(drawn)) {
      const flowing = inputs.get(name);
      if (flowing === undefined) continue;
      const producer = place.parallel
        ? undefined
        : place.earlier.findLast((draft) => flow.findSourceField(draft.id, flowing) !== undefined);
      if (producer !== undefined) {
        const field = flow.findSourceField(producer.id, flowing);
        taken[name] = { noun: field?.noun ?? "", ofList: field?.ofList ?? false, isId: flowing.isId };
        pendingInputs.push(flowing);
        continue;
      }
      const known = this.#known.findValue(flowing);
      if (known === undefined) input = withNewId(tool, { input, flowing, random });
      if (known === undefined || (!flowing.isId && random.next() >= REUSE_PROBABILITY)) continue;
      const fitted = withKnownValue(tool, { input, name, known });
      if (fitted === undefined) continue;
      input = fitted;
      taken[name] = { ...known, isId: flowing.isId };
    }
    input = this.#limitRefund(tool, input);
    const given = Object.fromEntries(Object.entries(input).filter(([name]) => !Object.hasOwn(taken, name)));
    return { id, tool, qualifiedName, given, taken, parallel: place.parallel && parallelCalls, input, pendingInputs };
  }

  /** Limits a refund to the amount paid for the thing that the input names. */
  #limitRefund(tool: Tool, input: JsonObject): JsonObject {
    const name = findRefundInput(tool);
    const amount = name === undefined ? undefined : input[name];
    if (name === undefined || (typeof amount !== "number" && typeof amount !== "string")) return input;
    const paid = Object.entries(input).flatMap(([key, value]) =>
      isIdName(key) && (typeof value === "string" || typeof value === "number") ? (this.#known.findPaidAmount(value) ?? []) : [],
    );
    const [most] = paid;
    if (most === undefined || !(Number(amount) > most)) return input;
    return withKnownValue(tool, { input, name, known: { value: most, noun: "", ofList: false } }) ?? input;
  }

  /** Returns the call with its awaited values; undefined if a result does not provide them. */
  completeCall(draft: DraftCall, results: readonly DraftResult[]): DraftedCall | undefined {
    let { input } = draft;
    if (draft.pendingInputs.length > 0) {
      const own = new KnownValues();
      for (const { id, result } of results) own.addResult(id, result);
      for (const flowing of draft.pendingInputs) {
        const known = own.findValue(flowing);
        const fitted = known === undefined ? undefined : withKnownValue(draft.tool, { input, name: flowing.name, known });
        if (fitted === undefined) return undefined;
        input = fitted;
      }
    }
    this.#callCount++;
    return { name: draft.qualifiedName, input };
  }

  /** Remembers the values of the turn, which later turns can use. */
  recordTurn(drafts: readonly DraftCall[], results: readonly DraftResult[]): void {
    for (const { qualifiedName, given, tool } of drafts) this.#known.addGivenValues(qualifiedName, withIdNames(tool, given));
    for (const { id, result, input } of results) {
      this.#known.addResult(id, result);
      if (result.status !== "ok" || toolSubject(result.name).verb !== "remove") continue;
      const tool = this.#options.flow.tools.get(id)?.tool;
      this.#known.removeValues(result.name, tool === undefined ? input : withIdNames(tool, input));
    }
  }

  get isDone(): boolean {
    return this.#callCount >= this.#options.count;
  }
}

/** A call with all its values. */
export interface DraftedCall extends ToolCall {
  readonly input: JsonObject;
}

/** A drafted call that was made, with its result. */
export interface DraftResult {
  /** The id of the tool in the catalog. */
  readonly id: string;
  readonly input: JsonObject;
  readonly result: ToolResult;
}

const REFUND = /refund|reimburse|chargeback/iu;
const REFUNDED = /^(?:amount|refund|refund_amount|amount_refunded|total|value|sum)$/u;

/** Maximum number of items in a generated array: people name few things at a time. */
const MAX_INPUT_ITEMS = 2;
const MAX_READ = 200;
/** Maximum number of draws for an input that the tool's own rules accept. */
const MAX_DRAWS = 100;
const refundInputs = new WeakMap<Tool, { readonly input: string | undefined }>();

/** Returns the input that is the amount of a refund; undefined if the tool makes no refunds. */
function findRefundInput(tool: Tool): string | undefined {
  return getOrAdd(refundInputs, tool, () => ({ input: readRefundInput(tool) })).input;
}

function readRefundInput({ name: toolName, description, inputSchema }: Tool): string | undefined {
  if (!REFUND.test(toolName) && !REFUND.test(description.slice(0, MAX_READ))) return undefined;
  return inputParameters(inputSchema).find(({ name }) => REFUNDED.test(normalizeName(name)))?.name;
}

const validators = new WeakMap<Tool, Validator>();

/** Whether a call of the tool accepts the input. Formats are checked as in a call: a library that parses the input defines its own. */
function matchesSchema(tool: Tool, input: JsonObject): boolean {
  const { inputSchema, parseInput } = tool;
  if (typeof inputSchema !== "object") return inputSchema;
  return getOrAdd(validators, tool, () => compileSchema(inputSchema, { formats: parseInput === undefined })).check(input);
}

/**
 * Whether the tool's own rules, which its schema does not express, accept the input, read as for a call. Rules that throw refuse every input; a
 * `parseInput` that returns a promise is assumed to accept it.
 */
function passesToolRules({ validate, parseInput }: Tool, input: JsonObject): boolean {
  if (validate === undefined && parseInput === undefined) return true;
  try {
    const given = copyJson(input).value as JsonObject; // frozen, as in a real call: rules that modify it would modify the dataset
    if (validate !== undefined && readProblems(validate(given)).length > 0) return false;
    if (parseInput === undefined) return true;
    const parsed = parseInput(given);
    if (!isPromiseLike(parsed)) return !("issues" in readParsed(parsed, "input"));
    asyncParsers.add(parseInput);
    void Promise.resolve(parsed).then(undefined, () => {}); // the call reports the error
    return true;
  } catch {
    return false;
  }
}

/** Returns the input with a known value, converted to the type that the schema requires; undefined if it does not fit. */
function withKnownValue(
  tool: Tool,
  { input, name, known: { value } }: { readonly input: JsonObject; readonly name: string; readonly known: KnownValue },
): JsonObject | undefined {
  const isNumber = typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,6})?$/u.test(value) && String(Number(value)) === value; // excludes 007
  const spellings: readonly JsonValue[] = isJsonArray(input[name])
    ? [[value], [String(value)]]
    : [value, ...(typeof value === "number" ? [String(value)] : isNumber ? [Number(value)] : [])];
  for (const spelling of spellings) {
    const changed = { ...input, [name]: spelling };
    if (matchesSchema(tool, changed) && passesToolRules(tool, changed)) return changed;
  }
  return undefined;
}

/** Replaces the words that were drawn for an id whose name does not say so, such as the `order` of `/orders/{order}`. */
function withNewId(
  tool: Tool,
  { input, flowing: { name, isId, key }, random }: { readonly input: JsonObject; readonly flowing: FlowInput; readonly random: Random },
): JsonObject {
  if (!isId || isIdName(name) || typeof input[name] !== "string") return input;
  const digits = Math.floor(random.next() * 4_294_967_296);
  const value = `${key.replace(/_id$/u, "")}_${digits.toString(16).padStart(8, "0")}`;
  return withKnownValue(tool, { input, name, known: { value, noun: "", ofList: false } }) ?? input;
}

/** Draws an input; empty for a tool that takes nothing or declares no properties, undefined if none fits. */
function drawInput(tool: Tool, random: Random): JsonObject | undefined {
  const { inputSchema } = tool;
  if (typeof inputSchema !== "object") return {};
  const { restrictsValues, subject, about } = getOrAdd(inputFacts, tool, () => readInputFacts(tool, inputSchema));
  try {
    if (!restrictsValues && matchesSchema(tool, {}) && passesToolRules(tool, {})) return {};
    for (let tries = 0; tries < MAX_DRAWS; tries++) {
      const { value, valid } = exampleValue(inputSchema, { random, subject, maxItems: MAX_INPUT_ITEMS, about });
      const whole = valid && isJsonObject(value) ? withoutRefusedInputs(tool, value) : undefined;
      if (whole === undefined) return undefined;
      const input = omitOptionalInputs(tool, whole, random);
      if (passesToolRules(tool, input)) return input;
    }
    return undefined;
  } catch {
    return undefined; // the schema cannot be used
  }
}

/** Returns the input, without its optional properties if one of those is not of its format; undefined if it does not fit either. */
function withoutRefusedInputs(tool: Tool, input: JsonObject): JsonObject | undefined {
  if (matchesSchema(tool, input)) return input;
  const required = requiredInputs(tool.inputSchema);
  const least = Object.fromEntries(Object.entries(input).filter(([name]) => required.has(name)));
  return matchesSchema(tool, least) ? least : undefined;
}

function requiredInputs(schema: JsonSchema): ReadonlySet<unknown> {
  return new Set<unknown>(typeof schema === "object" && Array.isArray(schema["required"]) ? schema["required"] : []);
}

interface InputFacts {
  readonly restrictsValues: boolean;
  readonly subject: { readonly noun: string };
  readonly about: string;
}

/** Seeds of the draws that must all fail before a tool counts as not callable. */
const TRIALS = ["first", "second", "third"];
const callableTools = new WeakMap<Tool, boolean>();

/** Whether an input can be generated for the tool. */
export function canBeCalled(tool: Tool): boolean {
  return getOrAdd(callableTools, tool, () => TRIALS.some((trial) => drawInput(tool, seededRandom(trial)) !== undefined));
}

/** Every `parseInput` that has returned a promise. */
const asyncParsers = new WeakSet<object>();

/** Whether the rules of a tool are asynchronous, which is known once an input was generated for it. */
export function hasAsyncRules({ parseInput }: Tool): boolean {
  return parseInput !== undefined && asyncParsers.has(parseInput);
}

const inputFacts = new WeakMap<Tool, InputFacts>();

function readInputFacts(tool: Tool, schema: object): InputFacts {
  const { noun } = toolSubject(tool.name);
  return { restrictsValues: restrictsValues(schema), subject: { noun }, about: topicText(tool, noun) };
}

/** Leaves out some optional properties, because people do not state everything. */
function omitOptionalInputs(tool: Tool, input: JsonObject, random: Random): JsonObject {
  const { inputSchema: schema } = tool;
  const required = requiredInputs(schema);
  const kept = Object.entries(input).filter(([name, value]) => {
    const isStated = random.next() >= OMISSION_PROBABILITY;
    return required.has(name) || (isStated && !isUsuallyOmitted(schema, name, value));
  });
  const [first] = Object.entries(input);
  const some = kept.length === 0 && first !== undefined && !isEmptyValue(first[1]) ? [first] : kept;
  if (some.length === Object.keys(input).length) return input;
  const fewer = Object.fromEntries(some);
  return matchesSchema(tool, fewer) ? fewer : input;
}

/** Inputs that request a later page of a list; their values come from the first page. */
const LATER_PAGE =
  /^(?:page|page_?(?:number|no|num|index)|offset|skip|start_index|cursor|.*_cursor|.*page_token|continuation_token|starting_after|ending_before)$/u;

/** Whether users leave a value out: an empty value, a default, a later page, or an object without declared properties. */
function isUsuallyOmitted(schema: JsonSchema, name: string, value: JsonValue): boolean {
  if (isEmptyValue(value)) return true;
  const property: unknown = typeof schema === "object" ? Object(getOwn(Object(schema["properties"]), name)) : {};
  const { default: fallback, properties } = Object(property);
  if (LATER_PAGE.test(normalizeName(name))) return true;
  if (typeof value !== "number" && fallback !== undefined && JSON.stringify(fallback) === JSON.stringify(value)) return true;
  return isJsonObject(value) && properties === undefined;
}

/** Whether the schema restricts its values. `properties: {}` does not, and an object without restrictions is better left empty. */
function restrictsValues(schema: object): boolean {
  return Object.entries(schema).some(
    ([keyword, value]) => RESTRICTING_KEYWORDS.has(keyword) && !(isEmpty(value) && NAMING_KEYWORDS.has(keyword)),
  );
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

const NAMING_KEYWORDS: ReadonlySet<string> = new Set(["properties", "required"]);
const RESTRICTING_KEYWORDS: ReadonlySet<string> = new Set([...NAMING_KEYWORDS, "$ref", "allOf", "anyOf", "oneOf", "const", "enum"]);
