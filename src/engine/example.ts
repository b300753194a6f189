/** Answers calls without the tool and without a model: plausible values of the output schema that agree with each other within a session. */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineRequest } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { canonicalJson, isJsonObject } from "../core/json.ts";
import { seededRandom } from "../core/seeded-random.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { type Validator, compileSchema } from "../schema/compile-schema.ts";
import { exampleValue } from "../schema/example/example-value.ts";
import type { Subject } from "../schema/example/given.ts";
import { plainName } from "../schema/example/name-words.ts";
import { countsOf, listIn, thingIn, usualSchema, withKnown } from "./example/answer-shape.ts";
import { changesIn, limitIn, matches, queryOf } from "./example/read-input.ts";
import { type Change, Records, type Thing, bounded, remembered } from "./example/records.ts";
import { type Identity, type ToolIntent, identityIn, toolIntent } from "./example/tool-intent.ts";
import { reduceWorld } from "./world.ts";

export interface ExampleEngineOptions {
  /** Other seeds, other answers. @default 0 */
  readonly seed?: number | string;
}

/**
 * An engine that makes answers up from the output schema and the call, with nothing but a seed.
 *
 * The same call is given the same answer in every session, as long as nothing was written before it. Values of the call stand in the
 * answer where names match. Where the names of tools tell what they do, a session's answers agree: what `create_order` made,
 * `get_order` and `list_orders` return, `update_order` changes, and after `cancel_order` it is `not_found`; what was read or listed
 * without having been created is remembered as well, up to some 250 things a toolset, the oldest forgotten first. The facts of a tool's `reducer` stand in its answer.
 * A tool without output schema answers an object of what it was given. What no value can be found for is given the nearest there is.
 *
 * @throws ToolError `invalid_argument` at once for a seed that is neither text nor number
 */
export function exampleEngine(options: ExampleEngineOptions = {}): Engine {
  const { seed = 0 } = options;
  if (typeof seed !== "string" && !Number.isFinite(seed))
    throw new ToolError("invalid_argument", `The seed of an example engine is of type ${typeof seed}; it takes a text or a number.`);
  return {
    kind: "example",
    order: "sequential",
    state: "value",
    effectFree: true,
    origin: "simulated",
    call: (request, context) => new ExampleCall(request, context, `${typeof seed}:${seed}`).answer(),
  };
}

/** How often a new thing is drawn again because its id is taken. */
const MAX_REDRAWS = 8;
/** How many made-up things a list has besides those that are known. */
const MORE_IN_LIST = 2;
const usualSchemas = new WeakMap<Tool, JsonSchema>();
const validators = new WeakMap<Tool, Validator>();

class ExampleCall {
  readonly #request: EngineRequest;
  readonly #tool: Tool;
  readonly #input: JsonObject;
  readonly #context: ToolContext;
  readonly #seed: string;
  readonly #intent: ToolIntent;
  readonly #records: Records;

  constructor(request: EngineRequest, context: ToolContext, seed: string) {
    const { tool, input } = request;
    this.#request = request;
    this.#tool = tool;
    this.#input = bounded(input);
    this.#context = context;
    this.#seed = `${seed}|${context.toolName}|${canonicalJson(input)}`;
    this.#intent = toolIntent(context.toolName);
    this.#records = new Records(context.state);
  }

  answer(): JsonValue {
    if (this.#tool.reducer !== undefined) return this.#reduced();
    switch (this.#intent.verb) {
      case "create":
        return this.#create();
      case "read":
        return this.#read();
      case "update":
        return this.#update();
      case "remove":
        return this.#remove();
      case "list":
        return this.#list();
      case "other":
        return this.#draw(this.#input);
    }
  }

  /** The tool keeps its world itself: nothing is remembered here. All facts are told, unless the schema has no room for them. */
  #reduced(): JsonValue {
    const { outputSchema } = this.#tool;
    const facts = reduceWorld(this.#request, this.#context);
    if (facts === undefined) return this.#draw(this.#input);
    if (!isJsonObject(facts) || outputSchema === undefined) return facts;
    const drawn = this.#draw({ ...this.#input, ...facts });
    const told = { ...Object(drawn), ...facts };
    return validatorOf(this.#tool, outputSchema).check(told) ? told : drawn;
  }

  #create(): JsonValue {
    const { noun } = this.#intent;
    const named = identityIn(this.#input, noun, this.#asked());
    let output = this.#draw(this.#input);
    let identity = this.#identityOf(output) ?? named;
    for (let turn = 1; turn <= MAX_REDRAWS && identity !== undefined && identity.id !== named?.id; turn++) {
      if (this.#records.find(identity.nouns, identity.id) === undefined) break;
      output = this.#draw(this.#input, { turn });
      identity = this.#identityOf(output) ?? named;
    }
    const nouns = identity?.nouns ?? [noun];
    const id = identity?.id ?? `#${this.#records.of(nouns).length + 1}`;
    const values = { ...thingIn(output, { noun }), ...this.#input };
    this.#records.put([remembered(undefined, { nouns, id, values, isNew: true })]);
    return output;
  }

  /** The id that an answer gives a new thing, which is none of those it was asked about. */
  #identityOf(output: JsonValue): Identity | undefined {
    const { noun } = this.#intent;
    return identityIn(thingIn(output, { noun }), noun, this.#asked());
  }

  /** The names of the input, plainly spelled. */
  #asked(): ReadonlySet<string> {
    return new Set(Object.keys(this.#input).map(plainName));
  }

  /** The thing that the input names. The id of something else is an id of the noun as well: one subscription for one user. */
  #named(): Identity | undefined {
    const { noun, verb } = this.#intent;
    const identity = identityIn(this.#input, noun);
    if (identity === undefined || identity.of === "noun" || noun === "") return identity;
    return identity.of === "whole" && verb !== "remove" ? identity : { ...identity, nouns: identity.nouns.slice(1) };
  }

  #read(): JsonValue {
    const { noun, isPlural } = this.#intent;
    const identity = this.#named();
    if (isPlural && identity?.of !== "noun") return this.#list();
    if (identity === undefined) return this.#readUnnamed();
    const known = this.#knownOrGone(identity);
    const output = this.#draw({ ...this.#input, ...known?.values, ...this.#spelled(identity) });
    const values = { ...thingIn(output, { noun }), ...known?.values };
    this.#remember(known, { nouns: identity.nouns, id: identity.id, values });
    return output;
  }

  /** Without an id, what was made last and fits what is asked. */
  #readUnnamed(): JsonValue {
    const { noun } = this.#intent;
    const known = this.#records.of([noun]).findLast((thing) => !thing.isGone && matches(thing, this.#input, undefined));
    return this.#draw({ ...known?.values, ...this.#input });
  }

  #update(): JsonValue {
    const { noun } = this.#intent;
    const identity = this.#named();
    if (identity === undefined) return this.#draw(this.#input);
    const known = this.#knownOrGone(identity);
    const values = { ...known?.values, ...changesIn(this.#input, identity, noun) };
    const output = this.#draw({ ...this.#input, ...values, ...this.#spelled(identity) });
    this.#records.put([remembered(known, { nouns: identity.nouns, id: identity.id, values })]);
    return output;
  }

  #remove(): JsonValue {
    const identity = this.#named();
    if (identity === undefined) return this.#draw(this.#input);
    const known = this.#knownOrGone(identity);
    const { status: _, ...values } = known?.values ?? {};
    const output = this.#draw({ ...values, ...this.#input, ...this.#spelled(identity) });
    this.#records.put([{ ...remembered(known, { nouns: identity.nouns, id: identity.id, values: {} }), values: {}, isGone: true }]);
    return output;
  }

  #list(): JsonValue {
    const { noun } = this.#intent;
    const query = queryOf(this.#context.toolName, this.#input);
    const all = this.#records.of([noun, noun.split("_").at(-1) ?? noun]);
    const found = all.filter((thing) => !thing.isGone && matches(thing, this.#input, query));
    const things = [...found.filter(({ isNew }) => isNew), ...found.filter(({ isNew }) => !isNew)];
    const isListed = all.some(({ queries }) => queries.includes(query));
    const limit = limitIn(this.#input);
    const records = things.map((thing) => this.#asRecord(thing));
    const more = isListed ? 0 : things.length > 0 ? MORE_IN_LIST : undefined;
    const subject: Subject = { noun, records, ...(limit !== undefined && { atMost: limit }), ...(more !== undefined && { more }) };
    const first = this.#draw(this.#input, { subject });
    const list = listIn(first, subject);
    if (list === undefined && things.length === 0) return first;
    this.#listed(list ?? [], { things, all, query, noun });
    const total = Math.max(records.length, list?.length ?? 0);
    return this.#draw({ ...this.#input, ...countsOf(total, list?.length ?? total) }, { subject });
  }

  /** Remembers what a list made up, so that it can be read and is listed again. */
  #listed(
    list: readonly JsonValue[],
    {
      things,
      all,
      query,
      noun,
    }: { readonly things: readonly Thing[]; readonly all: readonly Thing[]; readonly query: string; readonly noun: string },
  ): void {
    const found: Thing[] = things.filter(({ queries }) => !queries.includes(query)).map((thing) => remembered(thing, { ...thing, query }));
    for (const item of list.slice(things.length)) {
      const identity = isJsonObject(item) ? identityIn(item, noun) : undefined;
      if (identity === undefined || !isJsonObject(item)) continue;
      const isKnown = all.some(({ id, nouns }) => id === identity.id && nouns.some((word) => identity.nouns.includes(word)));
      if (!isKnown) found.push(remembered(undefined, { nouns: [...identity.nouns, noun], id: identity.id, values: item, query }));
    }
    this.#records.put(found);
  }

  /** @throws ToolError `not_found` for a thing that was removed */
  #knownOrGone({ nouns, id }: Identity): Thing | undefined {
    const known = this.#records.find(nouns, id);
    if (known?.isGone !== true) return known;
    const word = (nouns[0] ?? "thing").replaceAll("_", " ");
    throw new ToolError("not_found", `There is no ${word} ${JSON.stringify(id)}: it was removed earlier in this session.`, {
      retryable: false,
      outcome: "failed",
      hint: "Give the id of one that is still there.",
    });
  }

  /** The id under the names it may have in an answer. */
  #spelled({ nouns, key }: Identity): JsonObject {
    const id = this.#input[key];
    if (id === undefined) return {};
    if (this.#tool.outputSchema === undefined) return { id, [key]: id };
    return { ...idNames(nouns, id), [key]: id };
  }

  #asRecord({ nouns, id, values }: Thing): JsonObject {
    if (id.startsWith("#")) return values;
    return this.#tool.outputSchema === undefined ? { id, ...values } : { ...idNames(nouns, id), ...values };
  }

  #remember(known: Thing | undefined, change: Change): void {
    const thing = remembered(known, change);
    if (known === undefined || canonicalJson(known.values) !== canonicalJson(thing.values)) this.#records.put([thing]);
  }

  /** @param turn which draw of the same call */
  #draw(
    given: JsonObject,
    { turn = 0, subject = this.#subject() }: { readonly turn?: number; readonly subject?: Subject } = {},
  ): JsonValue {
    const { outputSchema } = this.#tool;
    const random = seededRandom(turn === 0 ? this.#seed : `${this.#seed}|${turn}`);
    const { value } = exampleValue(outputSchema ?? this.#usualSchema(), { random, given, subject });
    return outputSchema === undefined ? withKnown(value, given, subject) : value;
  }

  #subject(): Subject {
    const limit = limitIn(this.#input);
    return { noun: this.#intent.noun, ...(limit !== undefined && { atMost: limit }) };
  }

  #usualSchema(): JsonSchema {
    let schema = usualSchemas.get(this.#tool);
    if (schema === undefined) usualSchemas.set(this.#tool, (schema = usualSchema(this.#intent)));
    return schema;
  }
}

function validatorOf(tool: Tool, schema: JsonSchema): Validator {
  let validator = validators.get(tool);
  if (validator === undefined) validators.set(tool, (validator = compileSchema(schema)));
  return validator;
}

/** The names that an id may have in an answer. */
function idNames(nouns: readonly string[], id: JsonValue): JsonObject {
  const names = nouns.filter((noun) => noun !== "").map((noun) => `${noun}_id`);
  return Object.fromEntries(["id", ...names].map((name) => [name, id]));
}
