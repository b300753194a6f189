/** Generates plausible values that match a schema, without a model: what a tool might have answered. */
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { Random } from "../../core/ports.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { ValidationRun } from "../compiled-schema.ts";
import { evaluate } from "../evaluate.ts";
import { type CompiledDocument, compileNodes } from "../schema-compiler.ts";
import { MAX_STEPS } from "../schema-limits.ts";
import { ConstraintsReader } from "./constraints-reader.ts";
import { GivenValues, type Subject } from "./given-values.ts";
import { RandomStream } from "./random-stream.ts";
import { findTopic } from "./topics.ts";
import { type Budget, ValueDrawer, createBudget } from "./value-drawer.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** How one value is generated. */
export interface ExampleOptions {
  /** Determines the value: the same number gives the same value. One number is drawn. */
  readonly random: Random;
  /** Name of the value, as a hint. @default none */
  readonly name?: string;
  /** Values for properties of the same name, if they match the schema. @default none */
  readonly given?: JsonObject;
  /** Fallbacks for names that `given` does not have. Read once per object, which must not be changed afterwards. @default none */
  readonly typical?: JsonObject;
  /** The thing that `given` describes, and the first items of a list of such things. @default none */
  readonly subject?: Subject;
  /**
   * Objects with the same id get the same values in all examples with this seed.
   *
   * @default ids have no effect
   */
  readonly factsSeed?: number;
  /** The purpose of the value, such as the name and description of a tool; strings are about it. @default none */
  readonly about?: string;
  /** Below this depth, only required parts are generated. @default 6 */
  readonly maxDepth?: number;
  /** Maximum length of an array, unless the schema requires more. @default 3 */
  readonly maxItems?: number;
}

/** A generated value, and whether it matches its schema. */
export interface Example {
  readonly value: JsonValue;
  /** False if no matching value was found: the schema allows none, or the search was given up. */
  readonly valid: boolean;
}

const OPTIONS: OptionNames<ExampleOptions> = {
  random: true,
  about: "string",
  factsSeed: "number",
  name: "string",
  given: "object",
  typical: "object",
  subject: "object",
  maxDepth: "number",
  maxItems: "number",
};
const MAX_ATTEMPTS = 6;
/** Values that are tried last, for schemas that only say what a value is not. */
const LAST_RESORTS: readonly JsonValue[] = [{}, [], "", 0, null, true, false, 1.5, "example", [1], { name: "example" }, -1, 1_000_000];
const NO_VALUES = new GivenValues({});
const planCache = new WeakMap<object, ExamplePlan>();
const usualCache = new WeakMap<JsonObject, GivenValues>();

/**
 * Returns a plausible value that matches the schema: the same on every machine for the same schema, options and random number.
 *
 * Properties get values by their name, description and `format`; examples and defaults of the schema take precedence. Optional properties are
 * mostly present, up to a limit. The schema may be untrusted: none of it is executed, and strings, arrays and attempts are limited. What was
 * read of a schema is cached with its object, which must not be changed afterwards.
 *
 * @throws ToolError `invalid_schema` as `compileSchema` does; `invalid_argument` without `random`
 */
export function exampleValue(schema: JsonSchema, options: ExampleOptions): Example {
  if (typeof options?.random?.next !== "function")
    throw new ToolError("invalid_argument", "exampleValue() needs a source of chance: exampleValue(schema, { random }).");
  checkKnownKeys(options, OPTIONS, "exampleValue()");
  return getPlan(schema).example(options);
}

function givenValuesOf({ given, typical: usual }: ExampleOptions): GivenValues {
  if (usual === undefined) return given === undefined ? NO_VALUES : new GivenValues(given);
  const outer = getOrAdd(usualCache, usual, () => new GivenValues(usual, { isUsual: true }));
  return given === undefined ? outer : new GivenValues(given, { outer });
}

function getPlan(schema: JsonSchema): ExamplePlan {
  const known = typeof schema === "object" ? planCache.get(schema) : undefined;
  if (known !== undefined) return known;
  const plan = new ExamplePlan(compileOrThrow(schema));
  if (typeof schema === "object") planCache.set(schema, plan);
  return plan;
}

function compileOrThrow(schema: JsonSchema): CompiledDocument {
  try {
    return compileNodes(schema);
  } catch (error: unknown) {
    throw ToolError.fromUnknown(error, "invalid_schema");
  }
}

class ExamplePlan {
  readonly #document: CompiledDocument;
  readonly #reader: ConstraintsReader;

  constructor(document: CompiledDocument) {
    this.#document = document;
    this.#reader = new ConstraintsReader(document);
  }

  example(options: ExampleOptions): Example {
    const seed = new RandomStream(Math.floor(options.random.next() * 4_294_967_296));
    const budget = createBudget();
    let best: JsonValue | undefined;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { maxDepth = 6, maxItems = 3, name = "", subject, about = "", factsSeed } = options;
      const facts = factsSeed === undefined ? undefined : new RandomStream(factsSeed);
      const drawer = new ValueDrawer({
        reader: this.#reader,
        budget,
        maxDepth,
        maxItems,
        subject,
        topic: findTopic(about),
        facts,
        attempt,
      });
      const given = attempt > 2 ? NO_VALUES : givenValuesOf(options);
      const random = attempt === 0 ? seed : seed.branch(attempt);
      const value = drawer.draw([this.#document.root], {
        name,
        ownerName: "",
        hint: "",
        depth: 0,
        random,
        given,
        isSubject: true,
        owner: undefined,
        trail: undefined,
      });
      if (value === undefined) continue;
      if (this.#isValid(value, budget)) return { value, valid: true };
      best ??= value;
    }
    const resort = LAST_RESORTS.find((value) => this.#isValid(value, budget));
    return resort === undefined ? { value: best ?? null, valid: false } : { value: resort, valid: true };
  }

  #isValid(value: JsonValue, budget: Budget): boolean {
    const run = new ValidationRun(Math.min(MAX_STEPS, budget.finalSteps), 0);
    const valid = evaluate(this.#document.root, value, run) && run.limit === undefined;
    budget.finalSteps -= Math.min(MAX_STEPS, budget.finalSteps) - Math.max(0, run.stepsLeft);
    return valid;
  }
}
