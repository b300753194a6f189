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
import { type Subject, isUnambiguousName, isStateName } from "../../schema/example/given-values.ts";
import { normalizeName } from "../../schema/example/name-words.ts";
import { RandomStream } from "../../schema/example/random-stream.ts";
import {
  findList,
  pageFacts,
  detectPeople,
  findRequestedPerson,
  impliedState,
  possibleStates,
  extractRecord,
  usualSchema,
  withKnownValues,
} from "./answer-shape.ts";
import { withIdNames } from "./path-ids.ts";
import { readChanges, readLimit, matchesSearch, readOffset, searchKeyOf, acceptsPaging } from "./read-input.ts";
import { type RecordChange, Records, type GeneratedRecord, withoutLargeValues, mergeRecord } from "./records.ts";
import {
  type Identity,
  type ToolIntent,
  idFields,
  toIdText,
  findIdentity,
  describedIntent,
  isBookingVerb,
  asListIntent,
  createdNoun,
  findOtherIds,
  toolIntent,
} from "./tool-intent.ts";
import { acceptsAnyObject } from "./usual-fields.ts";
import { type ToolFacts, factsOf } from "./tool-facts.ts";
import { runReducerStep } from "../reducer-step.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** How often a new record is drawn again because its id is taken. */
const MAX_REDRAWS = 8;
/** Number of generated records in a list besides the known ones. */
const EXTRA_LIST_ITEMS = 2;
/** The names of the facts about an array. */
const LIST_FACTS = pageFacts({ total: 0, shown: 0, offset: 0, limit: 0 });
const usualSchemas = new WeakMap<Tool, Map<boolean, JsonSchema>>();
const validators = new WeakMap<Tool, Validator>();

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
    this.#outputSchema = acceptsAnyObject(tool.outputSchema) ? undefined : tool.outputSchema;
    this.#input = withIdNames(tool, withoutLargeValues(input));
    this.#context = context;
    const { variation = "" } = context;
    this.#seed = `${seed}|${variation === "" ? "" : `${variation}|`}${context.toolName}|${canonicalJson(input)}`;
    this.#factsSeed = Math.floor(seededRandom(`${seed}|facts|${variation}`).next() * 4_294_967_296);
    this.#intent = this.#outputSchema === undefined ? this.#readIntent() : toolIntent(context.toolName);
    this.#facts = factsOf(seed, tool, this.#intent);
    this.#records = new Records(context.state);
  }

  #readIntent(): ToolIntent {
    const intent = describedIntent(this.#context.toolName, this.#tool.description);
    const isNamed = findIdentity(this.#input, intent.noun)?.of === "noun";
    return asListIntent(intent, { isNamed, takesPages: acceptsPaging(this.#tool) });
  }

  answer(): JsonValue {
    if (this.#tool.reducer !== undefined) return this.#answerByReducer();
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
  #answerByReducer(): JsonValue {
    const outputSchema = this.#outputSchema;
    const step = runReducerStep(this.#request, this.#context);
    if (step === undefined) return this.#draw(this.#input);
    const { facts } = step;
    let output: JsonValue = facts;
    if (isJsonObject(facts) && outputSchema !== undefined) {
      const drawn = this.#draw({ ...this.#input, ...facts });
      const merged = { ...Object(drawn), ...facts };
      output = getOrAdd(validators, this.#tool, () => compileSchema(outputSchema)).check(merged) ? merged : drawn;
    }
    step.commit();
    return output;
  }

  #create(): JsonValue {
    const { noun } = this.#intent;
    const asked = findIdentity(this.#input, noun);
    const named = asked?.of === "noun" ? asked : undefined;
    let output = this.#draw(this.#input);
    let identity = this.#findNewIdentity(output);
    for (let turn = 1; turn <= MAX_REDRAWS && identity !== undefined; turn++) {
      if (this.#records.find(identity.nouns, identity.id) === undefined) break;
      output = this.#draw(this.#input, { turn });
      identity = this.#findNewIdentity(output);
    }
    const { nouns, id } = identity ?? named ?? { nouns: [noun], id: `#${this.#records.listByNouns([noun]).length + 1}` };
    const values = { ...this.#input, ...this.#createdValues(output) };
    this.#records.put([mergeRecord(undefined, { nouns, id, values, isNew: true })]);
    return output;
  }

  /** The id of a new record in an answer, other than the ids in the input: that of the booking, when a flight is booked. */
  #findNewIdentity(output: JsonValue): Identity | undefined {
    const { word } = this.#intent;
    const noun = createdNoun(this.#intent, output);
    const asked = new Set(Object.keys(this.#input).map(normalizeName));
    const values = Object.entries(extractRecord(output, { noun })).filter(([name]) => !asked.has(normalizeName(name)));
    const identity = findIdentity(Object.fromEntries(values), noun);
    return identity?.of === "other" && isBookingVerb(word) ? { ...identity, nouns: identity.nouns.slice(0, 1) } : identity;
  }

  /** The record that the input names. An id of something else also identifies the noun: one subscription for one user. */
  #findNamedIdentity(): Identity | undefined {
    const { noun, verb } = this.#intent;
    const identity = findIdentity(this.#input, noun);
    if (identity === undefined || noun === "") return identity;
    if (identity.of === "noun") return this.#resolveNumber(identity);
    return identity.of === "whole" && verb !== "remove" ? identity : { ...identity, nouns: identity.nouns.slice(1) };
  }

  /** Also finds a record that is known by its id by its number. */
  #resolveNumber(identity: Identity): Identity {
    const { nouns, id, kind, key } = identity;
    if (kind === "id" || this.#records.find(nouns, id) !== undefined) return identity;
    const known = this.#records.listByNouns(nouns).find(({ values }) => toIdText(values[kind]) === id || toIdText(values[key]) === id);
    return known === undefined ? identity : { ...identity, nouns: known.nouns, id: known.id };
  }

  #read(): JsonValue {
    const { noun, isPlural } = this.#intent;
    const identity = this.#findNamedIdentity();
    if (isPlural && identity?.of !== "noun") return this.#list();
    if (identity === undefined) return this.#readWithoutId();
    const known = this.#findKnownRecord(identity);
    const output = this.#draw({ ...this.#input, ...known?.values, ...this.#idFields(identity) });
    const values = { ...extractRecord(output, { noun }), ...known?.values };
    this.#storeRecord(known, { nouns: identity.nouns, id: identity.id, values });
    return output;
  }

  /** Answers a read without an id by the latest record that matches the input. */
  #readWithoutId(): JsonValue {
    const { noun } = this.#intent;
    const known = this.#records
      .listByNouns([noun])
      .findLast(
        (thing) => !thing.isGone && (thing.isNew || this.#outputSchema !== undefined) && matchesSearch(thing, this.#input, undefined),
      );
    const output = this.#draw({ ...known?.values, ...this.#input });
    const identity = findIdentity(extractRecord(output, { noun }), noun);
    if (identity?.of === "noun" && identity.kind === "id" && noun !== "")
      this.#storeRecord(this.#records.find(identity.nouns, identity.id), {
        nouns: identity.nouns,
        id: identity.id,
        values: extractRecord(output, { noun }),
      });
    return output;
  }

  #update(): JsonValue {
    const { noun } = this.#intent;
    const identity = this.#findNamedIdentity();
    if (identity === undefined) return this.#draw(this.#input);
    const known = this.#findKnownRecord(identity);
    const newState = impliedState(this.#intent);
    const before = Object.entries(known?.values ?? {}).filter(
      ([name, value]) => newState === undefined || (!isStateName(name) && value !== null),
    );
    const values = { ...Object.fromEntries(before), ...readChanges(this.#input, identity, noun) };
    const output = this.#draw({ ...this.#input, ...values, ...this.#idFields(identity) });
    const state = newState === undefined ? {} : { status: newState };
    const drawn = this.#outputSchema === undefined ? {} : extractRecord(output, { noun });
    this.#records.put([mergeRecord(known, { nouns: identity.nouns, id: identity.id, values: { ...state, ...values, ...drawn } })]);
    return output;
  }

  #remove(): JsonValue {
    const identity = this.#findNamedIdentity();
    if (identity === undefined) return this.#draw(this.#input);
    const known = this.#findKnownRecord(identity);
    const { status: _, ...values } = this.#outputSchema === undefined ? {} : (known?.values ?? {});
    const output = this.#draw({ ...values, ...this.#input, ...this.#idFields(identity) });
    this.#records.put([{ ...mergeRecord(known, { nouns: identity.nouns, id: identity.id, values: {} }), values: {}, isGone: true }]);
    return output;
  }

  #list(): JsonValue {
    const { noun } = this.#intent;
    const query = searchKeyOf(this.#context.toolName, this.#input);
    const all = this.#records.listByNouns([noun, noun.split("_").at(-1) ?? noun]);
    const found = all.filter((thing) => !thing.isGone && matchesSearch(thing, this.#input, query));
    const things = [...found.filter(({ isNew }) => isNew), ...found.filter(({ isNew }) => !isNew)];
    const isListed = all.some(({ queries }) => queries.includes(query));
    const limit = readLimit(this.#input);
    const offset = readOffset(this.#input);
    const page = things.slice(offset);
    const more = isListed || offset > 0 ? 0 : things.length > 0 ? EXTRA_LIST_ITEMS : undefined;
    const subject: Subject = {
      ...this.#subject(),
      ...detectPeople(this.#intent, this.#input),
      records: page.map((thing) => this.#toRecord(thing)),
      ...(more !== undefined && { more }),
      ofList: LIST_FACTS,
      lists: new Map(),
    };
    const first = this.#draw(this.#input, { subject });
    const list = findList(first, subject);
    if (list === undefined && things.length === 0) return first;
    this.#recordListItems(list ?? [], { things: page, all, query, noun });
    const shown = list?.length ?? page.length;
    const total = Math.max(things.length, shown > 0 ? offset + shown : 0);
    const { page: firstPage, ...counts } = pageFacts({ total, shown, offset, limit: limit ?? 0 });
    return this.#draw(
      { page: firstPage ?? 1, ...this.#input, ...counts },
      { subject: { ...subject, isLastPage: counts["has_more"] === false } },
    );
  }

  /** Records the generated items of a list, so that they can be read and are listed again. */
  #recordListItems(
    list: readonly JsonValue[],
    {
      things,
      all,
      query,
      noun,
    }: {
      readonly things: readonly GeneratedRecord[];
      readonly all: readonly GeneratedRecord[];
      readonly query: string;
      readonly noun: string;
    },
  ): void {
    const found: GeneratedRecord[] = things
      .filter(({ queries }) => !queries.includes(query))
      .map((thing) => mergeRecord(thing, { ...thing, query }));
    for (const item of list.slice(things.length)) {
      const identity = isJsonObject(item) ? findIdentity(item, noun) : undefined;
      if (identity === undefined || !isJsonObject(item)) continue;
      const isKnown = all.some(({ id, nouns }) => id === identity.id && nouns.some((word) => identity.nouns.includes(word)));
      if (!isKnown) found.push(mergeRecord(undefined, { nouns: [...identity.nouns, noun], id: identity.id, values: item, query }));
    }
    this.#records.put(found);
  }

  /** @throws ToolError `not_found` for a record that was removed */
  #findKnownRecord({ nouns, id }: Identity): GeneratedRecord | undefined {
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
  #createdValues(output: JsonValue): JsonObject {
    const values = extractRecord(output, { noun: createdNoun(this.#intent, output) });
    if (this.#outputSchema !== undefined) return values;
    const { status: _, ...rest } = values;
    return rest;
  }

  /** The id under the names that it may have in an answer. */
  #idFields({ nouns, key, kind }: Identity): JsonObject {
    const id = this.#input[key];
    if (id === undefined) return {};
    if (this.#outputSchema === undefined) return { [key]: id };
    return kind === "number" ? { number: id, [key]: id } : { ...idFields(nouns, id), [key]: id };
  }

  #toRecord({ nouns, id, values }: GeneratedRecord): JsonObject {
    if (id.startsWith("#")) return values;
    return this.#outputSchema === undefined ? { id, ...values } : { ...idFields(nouns, id), ...values };
  }

  #storeRecord(known: GeneratedRecord | undefined, change: RecordChange): void {
    const thing = mergeRecord(known, change);
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
    const { topic, sharedValues } = this.#facts;
    if (outputSchema === undefined)
      return withKnownValues(
        exampleValue(this.#usualSchema(), {
          random,
          given: { ...subject.named, ...this.#relatedValues(), ...given },
          subject,
          about: topic,
          factsSeed,
        }).value,
        {
          known: given,
          subject,
          verb: this.#intent.verb,
          random: new RandomStream(Math.floor(random.next() * 4_294_967_296)),
        },
      );
    const drawn = exampleValue(outputSchema, {
      random,
      typical: sharedValues,
      given: { ...subject.named, ...this.#relatedValues(), ...given },
      subject,
      about: topic,
      factsSeed,
    });
    if (drawn.valid) return drawn.value;
    // known values may leave no value that matches: a valid answer is preferred to a consistent one
    const plain = exampleValue(outputSchema, { random, about: topic });
    return plain.valid ? plain.value : drawn.value;
  }

  /** The known values of other records that the call names, such as the booked hotel: its city, and its name as `hotel_name`. */
  #relatedValues(): JsonObject {
    const others = findOtherIds(this.#input, isBookingVerb(this.#intent.word) ? "" : this.#intent.noun);
    const values = others.flatMap(({ owner, id }) =>
      Object.entries(this.#records.find([owner], id)?.values ?? {}).map(
        ([name, value]) => [isUnambiguousName(name) ? name : `${owner}_${normalizeName(name)}`, value] as const,
      ),
    );
    return Object.fromEntries(values);
  }

  #subject(): Subject {
    const limit = readLimit(this.#input);
    const states = possibleStates(this.#intent);
    const named = this.#intent.verb === "create" ? undefined : findIdentity(this.#input, this.#intent.noun);
    const people = detectPeople(this.#intent, this.#input);
    const person = people.atMost === undefined ? undefined : findRequestedPerson(this.#input);
    return {
      noun: this.#intent.noun,
      ...(person !== undefined && { named: person, atMost: 1 }),
      readFacts: (id) => this.#records.findById(id)?.values,
      ...(named !== undefined && named.of !== "other" && { id: named.id }),
      ...(limit !== undefined && person === undefined && { atMost: limit }),
      ...(states !== undefined && { states }),
    };
  }

  #usualSchema(): JsonSchema {
    const isNamed = findIdentity(this.#input, this.#intent.noun)?.of === "noun";
    const schemas = getOrAdd(usualSchemas, this.#tool, () => new Map());
    return getOrAdd(schemas, isNamed, () => usualSchema(this.#tool, this.#intent, isNamed));
  }
}
