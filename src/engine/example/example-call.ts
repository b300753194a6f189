/** Answers one call without its tool: from the records of the session, with generated values for the rest. */
import type { ToolContext } from "../../core/context.ts";
import type { EngineRequest } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { seededRandom } from "../../core/base/seeded-random.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { type Validator, compileSchema } from "../../schema/compile-schema.ts";
import { exampleValue } from "../../schema/example/example-value.ts";
import { type Subject, isOfThing, isState } from "../../schema/example/given.ts";
import { plainName } from "../../schema/example/name-words.ts";
import { RandomStream } from "../../schema/example/random-stream.ts";
import { listIn, pageFacts, peopleIn, personAsked, stateTold, statesAfter, thingIn, usualSchema, withKnown } from "./answer-shape.ts";
import { changesIn, limitIn, matches, offsetIn, queryOf, takesPages } from "./read-input.ts";
import { type Change, Records, type Thing, bounded, remembered } from "./records.ts";
import {
  type Identity,
  type ToolIntent,
  idNames,
  idText,
  identityIn,
  intentTold,
  isTaking,
  listIntent,
  madeBy,
  othersIn,
  toolIntent,
} from "./tool-intent.ts";
import { type ToolFacts, factsOf } from "./tool-facts.ts";
import { stepWorld } from "../world.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** How often a new record is drawn again because its id is taken. */
const MAX_REDRAWS = 8;
/** Number of generated records in a list besides the known ones. */
const MORE_IN_LIST = 2;
/** The names of the facts about an array. */
const OF_LIST = pageFacts({ total: 0, shown: 0, offset: 0, limit: 0 });
const usualSchemas = new WeakMap<Tool, Map<boolean, JsonSchema>>();
const validators = new WeakMap<Tool, Validator>();

/** Whether a schema accepts any object: such a tool is answered like one without a schema, by the usual answer. */
function saysNothing(schema: JsonSchema | undefined): boolean {
  if (schema === undefined || schema === true) return true;
  if (schema === false) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (keyword === "type") return value === "object" || (Array.isArray(value) && value.includes("object"));
    if (keyword === "additionalProperties") return value === true || isEmpty(value);
    return keyword === "properties" ? isEmpty(value) : OF_NO_VALUE.has(keyword);
  });
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

const OF_NO_VALUE = new Set(["$schema", "$id", "$comment", "title", "description"]);

export class ExampleCall {
  readonly #request: EngineRequest;
  readonly #tool: Tool;
  /** Undefined if the tool's output schema accepts any object. */
  readonly #outputSchema: JsonSchema | undefined;
  readonly #input: JsonObject;
  readonly #context: ToolContext;
  readonly #seed: string;
  readonly #facts: ToolFacts;
  readonly #intent: ToolIntent;
  readonly #records: Records;
  /** Derived only from the engine's seed and the variation, so that facts drawn with it are the same in all answers. */
  readonly #factsSeed: number;

  constructor(request: EngineRequest, context: ToolContext, seed: string) {
    const { tool, input } = request;
    this.#request = request;
    this.#tool = tool;
    this.#outputSchema = saysNothing(tool.outputSchema) ? undefined : tool.outputSchema;
    this.#input = bounded(input);
    this.#context = context;
    const { variation = "" } = context;
    this.#seed = `${seed}|${variation === "" ? "" : `${variation}|`}${context.toolName}|${canonicalJson(input)}`;
    this.#factsSeed = Math.floor(seededRandom(`${seed}|facts|${variation}`).next() * 4_294_967_296);
    this.#intent = this.#outputSchema === undefined ? this.#intentTold() : toolIntent(context.toolName);
    this.#facts = factsOf(seed, tool, this.#intent);
    this.#records = new Records(context.state);
  }

  #intentTold(): ToolIntent {
    const told = intentTold(this.#context.toolName, this.#tool.description);
    const isNamed = identityIn(this.#input, told.noun)?.of === "noun";
    return listIntent(told, { isNamed, takesPages: takesPages(this.#tool) });
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

  /** Answers by the tool's reducer, which keeps the state, so nothing is recorded. The answer has all facts, unless they violate the schema. */
  #reduced(): JsonValue {
    const outputSchema = this.#outputSchema;
    const step = stepWorld(this.#request, this.#context);
    if (step === undefined) return this.#draw(this.#input);
    const { facts } = step;
    let output: JsonValue = facts;
    if (isJsonObject(facts) && outputSchema !== undefined) {
      const drawn = this.#draw({ ...this.#input, ...facts });
      const told = { ...Object(drawn), ...facts };
      output = getOrAdd(validators, this.#tool, () => compileSchema(outputSchema)).check(told) ? told : drawn;
    }
    step.commit();
    return output;
  }

  #create(): JsonValue {
    const { noun } = this.#intent;
    const asked = identityIn(this.#input, noun);
    const named = asked?.of === "noun" ? asked : undefined;
    let output = this.#draw(this.#input);
    let identity = this.#newIdentity(output);
    for (let turn = 1; turn <= MAX_REDRAWS && identity !== undefined; turn++) {
      if (this.#records.find(identity.nouns, identity.id) === undefined) break;
      output = this.#draw(this.#input, { turn });
      identity = this.#newIdentity(output);
    }
    const { nouns, id } = identity ?? named ?? { nouns: [noun], id: `#${this.#records.of([noun]).length + 1}` };
    const values = { ...this.#input, ...this.#made(output) };
    this.#records.put([remembered(undefined, { nouns, id, values, isNew: true })]);
    return output;
  }

  /** The id of a new record in an answer, other than the ids in the input: that of the booking, when a flight is booked. */
  #newIdentity(output: JsonValue): Identity | undefined {
    const { word } = this.#intent;
    const noun = madeBy(this.#intent, output);
    const asked = new Set(Object.keys(this.#input).map(plainName));
    const values = Object.entries(thingIn(output, { noun })).filter(([name]) => !asked.has(plainName(name)));
    const identity = identityIn(Object.fromEntries(values), noun);
    return identity?.of === "other" && isTaking(word) ? { ...identity, nouns: identity.nouns.slice(0, 1) } : identity;
  }

  /** The record that the input names. An id of something else also identifies the noun: one subscription for one user. */
  #named(): Identity | undefined {
    const { noun, verb } = this.#intent;
    const identity = identityIn(this.#input, noun);
    if (identity === undefined || noun === "") return identity;
    if (identity.of === "noun") return this.#byNumber(identity);
    return identity.of === "whole" && verb !== "remove" ? identity : { ...identity, nouns: identity.nouns.slice(1) };
  }

  /** Also finds a record that is known by its id by its number. */
  #byNumber(identity: Identity): Identity {
    const { nouns, id, kind, key } = identity;
    if (kind === "id" || this.#records.find(nouns, id) !== undefined) return identity;
    const known = this.#records.of(nouns).find(({ values }) => idText(values[kind]) === id || idText(values[key]) === id);
    return known === undefined ? identity : { ...identity, nouns: known.nouns, id: known.id };
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

  /** Answers a read without an id by the latest record that matches the input. */
  #readUnnamed(): JsonValue {
    const { noun } = this.#intent;
    const known = this.#records
      .of([noun])
      .findLast((thing) => !thing.isGone && (thing.isNew || this.#outputSchema !== undefined) && matches(thing, this.#input, undefined));
    const output = this.#draw({ ...known?.values, ...this.#input });
    const identity = identityIn(thingIn(output, { noun }), noun);
    if (identity?.of === "noun" && identity.kind === "id" && noun !== "")
      this.#remember(this.#records.find(identity.nouns, identity.id), {
        nouns: identity.nouns,
        id: identity.id,
        values: thingIn(output, { noun }),
      });
    return output;
  }

  #update(): JsonValue {
    const { noun } = this.#intent;
    const identity = this.#named();
    if (identity === undefined) return this.#draw(this.#input);
    const known = this.#knownOrGone(identity);
    const told = stateTold(this.#intent);
    const before = Object.entries(known?.values ?? {}).filter(([name, value]) => told === undefined || (!isState(name) && value !== null));
    const values = { ...Object.fromEntries(before), ...changesIn(this.#input, identity, noun) };
    const output = this.#draw({ ...this.#input, ...values, ...this.#spelled(identity) });
    const state = told === undefined ? {} : { status: told };
    const drawn = this.#outputSchema === undefined ? {} : thingIn(output, { noun });
    this.#records.put([remembered(known, { nouns: identity.nouns, id: identity.id, values: { ...state, ...values, ...drawn } })]);
    return output;
  }

  #remove(): JsonValue {
    const identity = this.#named();
    if (identity === undefined) return this.#draw(this.#input);
    const known = this.#knownOrGone(identity);
    const { status: _, ...values } = this.#outputSchema === undefined ? {} : (known?.values ?? {});
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
    const offset = offsetIn(this.#input);
    const page = things.slice(offset);
    const more = isListed || offset > 0 ? 0 : things.length > 0 ? MORE_IN_LIST : undefined;
    const subject: Subject = {
      ...this.#subject(),
      ...peopleIn(this.#intent, this.#input),
      records: page.map((thing) => this.#asRecord(thing)),
      ...(more !== undefined && { more }),
      ofList: OF_LIST,
      lists: new Map(),
    };
    const first = this.#draw(this.#input, { subject });
    const list = listIn(first, subject);
    if (list === undefined && things.length === 0) return first;
    this.#listed(list ?? [], { things: page, all, query, noun });
    const shown = list?.length ?? page.length;
    const total = Math.max(things.length, shown > 0 ? offset + shown : 0);
    const { page: firstPage, ...counts } = pageFacts({ total, shown, offset, limit: limit ?? 0 });
    return this.#draw(
      { page: firstPage ?? 1, ...this.#input, ...counts },
      { subject: { ...subject, isLastPage: counts["has_more"] === false } },
    );
  }

  /** Records the generated items of a list, so that they can be read and are listed again. */
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

  /** @throws ToolError `not_found` for a record that was removed */
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

  /** The values of a new record to keep, without a status that only describes the call. */
  #made(output: JsonValue): JsonObject {
    const values = thingIn(output, { noun: madeBy(this.#intent, output) });
    if (this.#outputSchema !== undefined) return values;
    const { status: _, ...rest } = values;
    return rest;
  }

  /** The id under the names that it may have in an answer. */
  #spelled({ nouns, key, kind }: Identity): JsonObject {
    const id = this.#input[key];
    if (id === undefined) return {};
    if (this.#outputSchema === undefined) return { [key]: id };
    return kind === "number" ? { number: id, [key]: id } : { ...idNames(nouns, id), [key]: id };
  }

  #asRecord({ nouns, id, values }: Thing): JsonObject {
    if (id.startsWith("#")) return values;
    return this.#outputSchema === undefined ? { id, ...values } : { ...idNames(nouns, id), ...values };
  }

  #remember(known: Thing | undefined, change: Change): void {
    const thing = remembered(known, change);
    if (known === undefined || canonicalJson(known.values) !== canonicalJson(thing.values)) this.#records.put([thing]);
  }

  /** @param turn number of the draw for the same call */
  #draw(
    given: JsonObject,
    { turn = 0, subject = this.#subject() }: { readonly turn?: number; readonly subject?: Subject } = {},
  ): JsonValue {
    const outputSchema = this.#outputSchema;
    const random = seededRandom(turn === 0 ? this.#seed : `${this.#seed}|${turn}`);
    const factsSeed = this.#factsSeed;
    const { about, house } = this.#facts;
    if (outputSchema === undefined)
      return withKnown(
        exampleValue(this.#usualSchema(), { random, given: { ...subject.named, ...this.#related(), ...given }, subject, about, factsSeed })
          .value,
        {
          known: given,
          subject,
          verb: this.#intent.verb,
          random: new RandomStream(Math.floor(random.next() * 4_294_967_296)),
        },
      );
    const drawn = exampleValue(outputSchema, {
      random,
      usual: house,
      given: { ...subject.named, ...this.#related(), ...given },
      subject,
      about,
      factsSeed,
    });
    if (drawn.valid) return drawn.value;
    // known values may leave no value that matches: a valid answer is preferred to a consistent one
    const plain = exampleValue(outputSchema, { random, about });
    return plain.valid ? plain.value : drawn.value;
  }

  /** The known values of other records that the call names, such as the booked hotel: its city, and its name as `hotel_name`. */
  #related(): JsonObject {
    const others = othersIn(this.#input, isTaking(this.#intent.word) ? "" : this.#intent.noun);
    const values = others.flatMap(({ owner, id }) =>
      Object.entries(this.#records.find([owner], id)?.values ?? {}).map(
        ([name, value]) => [isOfThing(name) ? name : `${owner}_${plainName(name)}`, value] as const,
      ),
    );
    return Object.fromEntries(values);
  }

  #subject(): Subject {
    const limit = limitIn(this.#input);
    const states = statesAfter(this.#intent);
    const named = this.#intent.verb === "create" ? undefined : identityIn(this.#input, this.#intent.noun);
    const people = peopleIn(this.#intent, this.#input);
    const person = people.atMost === undefined ? undefined : personAsked(this.#input);
    return {
      noun: this.#intent.noun,
      ...(person !== undefined && { named: person, atMost: 1 }),
      factsOf: (id) => this.#records.withId(id)?.values,
      ...(named !== undefined && named.of !== "other" && { id: named.id }),
      ...(limit !== undefined && person === undefined && { atMost: limit }),
      ...(states !== undefined && { states }),
    };
  }

  #usualSchema(): JsonSchema {
    const isNamed = identityIn(this.#input, this.#intent.noun)?.of === "noun";
    const schemas = getOrAdd(usualSchemas, this.#tool, () => new Map());
    return getOrAdd(schemas, isNamed, () => usualSchema(this.#tool, this.#intent, isNamed));
  }
}
