/** Makes an input fit its schema: as it is if it fits, else by defaults and repairs that lose nothing. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Repair } from "../../core/result.ts";
import type { Validator } from "../compile-schema.ts";
import { fillDefaults, lacksDefault, planDefaults, type PlannedDefaults } from "./default-plan.ts";
import { RepairWalk } from "./repair-walk.ts";
import { problemAt, typeName, type SchemaProblem } from "../schema-problem.ts";
import { SchemaShapes } from "../schema-shape.ts";

/** Which repairs an input is given. */
export interface RepairOptions {
  /** Leave out keys that the schema forbids, each with a report: right for reads, not for writes. */
  readonly dropUnknownKeys: boolean;
  /** Repair text that spells another type, JSON inside text, near keys and enum members. @default true */
  readonly coerce?: boolean;
  /**
   * Take the likely value of damaged JSON text where another is possible, or where only closing brackets are missing at its end: right
   * for reads, never for writes. @default false
   */
  readonly allowGuesses?: boolean;
}

export type RepairOutcome =
  | { readonly ok: true; readonly value: JsonObject; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

const NO_REPAIRS: readonly Repair[] = Object.freeze([]);

/**
 * Fits a plain JSON input to a schema, strictly first.
 *
 * An input that fits and lacks no default comes back as the very same object. Else defaults of missing optional
 * properties are filled in, and only if the input is still wrong it is repaired: `"5"` → 5 and `"true"` → true
 * where the schema does not allow text, JSON text → object or array, enum members and keys that differ in case
 * or separators alone, forbidden keys dropped when the options say so. Never null to anything, a number to text,
 * or a value out of or into an array. Every change is listed, and nothing is changed unless the whole then
 * validates. The problems are those that the repairs would leave.
 */
export function fitInput(input: JsonValue, validator: Validator, options: RepairOptions): RepairOutcome {
  return fitterOf(validator).fit(input, options);
}

/** One line for each default of the schema that breaks its own schema and is therefore never applied. */
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

/** Fits inputs to the schema of one validator; what that needs is worked out once. */
export class InputFitter {
  readonly planned: PlannedDefaults;
  readonly #validator: Validator;
  readonly #shapes: SchemaShapes;

  constructor(validator: Validator) {
    this.#validator = validator;
    this.#shapes = new SchemaShapes(validator.schema);
    this.planned = planDefaults(this.#shapes);
  }

  /** Whether the input is right as it is: it fits, and lacks no default. */
  accepts(input: JsonValue): input is JsonObject {
    const { plan } = this.planned;
    return isJsonObject(input) && (plan === undefined || !lacksDefault(plan, input)) && this.#validator.check(input);
  }

  /** As `fitInput`. */
  fit(input: JsonValue, options: RepairOptions): RepairOutcome {
    return this.accepts(input) ? { ok: true, value: input, repairs: NO_REPAIRS } : this.refit(input, options);
  }

  /** As `fit`, for an input that is not right as it is. */
  refit(input: JsonValue, options: RepairOptions): RepairOutcome {
    const { plan } = this.planned;
    const outcome = isJsonObject(input) && plan !== undefined && lacksDefault(plan, input) ? this.#accept(input, []) : undefined;
    return outcome ?? this.#repair(input, options);
  }

  /** The value with defaults if it then fits, else without them; undefined if it fits neither way. */
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

/** A value that came as JSON text which could not be taken: the reason says more than its type. */
function explained(problem: SchemaProblem, { unread }: RepairWalk): SchemaProblem {
  const reason = unread.size === 0 ? undefined : unread.get(problem.path);
  return reason === undefined ? problem : { ...problem, message: `${problem.message}; read as JSON: ${reason}` };
}
