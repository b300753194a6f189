/** Makes an input match its schema: unchanged if it is valid, else by defaults and lossless repairs. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Repair } from "../../core/result.ts";
import type { Validator } from "../compile-schema.ts";
import { fillDefaults, lacksDefault, planDefaults, type PlannedDefaults } from "./default-plan.ts";
import { RepairWalk } from "./repair-walk.ts";
import { problemAt, typeName, type SchemaProblem } from "../schema-problem.ts";
import { SchemaShapes } from "../schema-shape.ts";

/** Which repairs are made to an input. */
export interface RepairOptions {
  /** Remove keys that the schema forbids, each with a report: suitable for reads, not for writes. */
  readonly dropUnknownKeys: boolean;
  /** Repair text that spells another type, JSON inside text, and keys and enum values that are nearly right. @default true */
  readonly coerce?: boolean;
  /**
   * Accept the likely value of damaged JSON text if another is possible, or if only closing brackets are missing at its end: suitable for
   * reads, never for writes. @default false
   */
  readonly allowGuesses?: boolean;
}

export type RepairOutcome =
  | { readonly ok: true; readonly value: JsonObject; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

const NO_REPAIRS: readonly Repair[] = Object.freeze([]);

/**
 * Makes a plain JSON input match a schema, validating strictly first.
 *
 * An input that is valid and lacks no default is returned as the same object. Otherwise defaults of missing optional properties are added, and
 * only if the input is still invalid it is repaired: `"5"` → 5 and `"true"` → true if the schema does not allow text, JSON text → object or
 * array, enum values and keys that differ only in case or separators, and forbidden keys are removed if `options` allow it. A null that an
 * optional property does not allow is left out. Never converts null to another value or a number to text, or moves a value out of or into an
 * array. Every change is listed, and nothing is changed unless the whole input is then valid. The problems are those that remain after the
 * repairs.
 */
export function fitInput(input: JsonValue, validator: Validator, options: RepairOptions): RepairOutcome {
  return fitterOf(validator).fit(input, options);
}

/** Returns one line for each default that violates its own schema and is therefore never applied. */
export function defaultWarnings(validator: Validator): readonly string[] {
  return fitterOf(validator).planned.warnings;
}

const fitters = new WeakMap<Validator, InputFitter>();

function fitterOf(validator: Validator): InputFitter {
  let fitter = fitters.get(validator);
  if (fitter === undefined) {
    fitter = new InputFitter(validator);
    fitters.set(validator, fitter);
  }
  return fitter;
}

/** Repairs inputs for the schema of one validator; the preparation is done once. */
export class InputFitter {
  readonly planned: PlannedDefaults;
  readonly #validator: Validator;
  readonly #shapes: SchemaShapes;

  constructor(validator: Validator) {
    this.#validator = validator;
    this.#shapes = new SchemaShapes(validator.schema);
    this.planned = planDefaults(this.#shapes);
  }

  /** Whether the input needs no change: it is valid, and lacks no default. */
  accepts(input: JsonValue): input is JsonObject {
    const { plan } = this.planned;
    return isJsonObject(input) && (plan === undefined || !lacksDefault(plan, input)) && this.#validator.check(input);
  }

  /** See `fitInput`. */
  fit(input: JsonValue, options: RepairOptions): RepairOutcome {
    return this.accepts(input) ? { ok: true, value: input, repairs: NO_REPAIRS } : this.refit(input, options);
  }

  /** Like `fit`, for an input that `accepts` has refused. */
  refit(input: JsonValue, options: RepairOptions): RepairOutcome {
    const { plan } = this.planned;
    const outcome = isJsonObject(input) && plan !== undefined && lacksDefault(plan, input) ? this.#accept(input, []) : undefined;
    return outcome ?? this.#repair(input, options);
  }

  /** Returns the value with defaults if it is then valid, else without them; undefined if it is invalid either way. */
  #accept(value: JsonObject, repairs: readonly Repair[]): RepairOutcome | undefined {
    const { plan } = this.planned;
    if (plan !== undefined) {
      const all = [...repairs];
      const filled = fillDefaults(plan, value, [], all);
      if (isJsonObject(filled) && this.#validator.check(filled)) return { ok: true, value: filled, repairs: Object.freeze(all) };
    }
    return this.#validator.check(value) ? { ok: true, value, repairs: Object.freeze(repairs) } : undefined;
  }

  #repair(input: JsonValue, options: RepairOptions): RepairOutcome {
    const { dropUnknownKeys, coerce = true, allowGuesses = false } = options;
    const walk = new RepairWalk(this.#shapes, { dropUnknownKeys, coerce, allowGuesses });
    const read = walk.readWhole(input);
    if (!isJsonObject(read)) {
      const problem = walk.unread.get("$") ?? `expected type object, got ${typeName(input)}`;
      return { ok: false, problems: [problemAt([], "type", problem)] };
    }
    const repaired = walk.walk(read);
    const proposed = isJsonObject(repaired) ? repaired : read;
    const outcome = proposed === input ? undefined : this.#accept(proposed, walk.repairs);
    return outcome ?? { ok: false, problems: this.#validator.problems(proposed).map((problem) => explained(problem, walk)) };
  }
}

/** Adds to a problem why the JSON text in its place was not accepted, which says more than the wrong type. */
function explained(problem: SchemaProblem, { unread }: RepairWalk): SchemaProblem {
  const reason = unread.size === 0 ? undefined : unread.get(problem.path);
  return reason === undefined ? problem : { ...problem, message: `${problem.message}; read as JSON: ${reason}` };
}
