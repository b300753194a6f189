/** Makes an input match its schema: unchanged if it is valid, else by defaults and lossless repairs. */
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Repair } from "../../core/result.ts";
import type { Validator } from "../compile-schema.ts";
import { fillDefaults, lacksDefault, planDefaults, type PlannedDefaults } from "./default-plan.ts";
import { RepairWalk } from "./repair-walk.ts";
import { createProblem, typeName, type SchemaProblem } from "../schema-problem.ts";
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
export function repairInput(input: JsonValue, validator: Validator, options: RepairOptions): RepairOutcome {
  return getRepairer(validator).repair(input, options);
}

/** Returns one line for each default that violates its own schema and is therefore never applied. */
export function defaultWarnings(validator: Validator): readonly string[] {
  return getRepairer(validator).defaults.warnings;
}

const repairers = new WeakMap<Validator, InputRepairer>();

function getRepairer(validator: Validator): InputRepairer {
  return getOrAdd(repairers, validator, () => new InputRepairer(validator));
}

/** Repairs inputs for the schema of one validator; the preparation is done once. */
export class InputRepairer {
  readonly defaults: PlannedDefaults;
  readonly #validator: Validator;
  readonly #shapes: SchemaShapes;

  constructor(validator: Validator) {
    this.#validator = validator;
    this.#shapes = new SchemaShapes(validator.schema);
    this.defaults = planDefaults(this.#shapes);
  }

  /** Whether the input needs no change: it is valid, and lacks no default. */
  needsNoRepair(input: JsonValue): input is JsonObject {
    const { plan } = this.defaults;
    return isJsonObject(input) && (plan === undefined || !lacksDefault(plan, input)) && this.#validator.check(input);
  }

  /** See `repairInput`. */
  repair(input: JsonValue, options: RepairOptions): RepairOutcome {
    return this.needsNoRepair(input) ? { ok: true, value: input, repairs: NO_REPAIRS } : this.repairInvalid(input, options);
  }

  /** Like `repair`, for an input for which `needsNoRepair` is false. */
  repairInvalid(input: JsonValue, options: RepairOptions): RepairOutcome {
    const { plan } = this.defaults;
    const outcome = isJsonObject(input) && plan !== undefined && lacksDefault(plan, input) ? this.#acceptIfValid(input, []) : undefined;
    return outcome ?? this.#repairByWalk(input, options);
  }

  /** Returns the value with defaults if it is then valid, else without them; undefined if it is invalid either way. */
  #acceptIfValid(value: JsonObject, repairs: readonly Repair[]): RepairOutcome | undefined {
    const { plan } = this.defaults;
    if (plan !== undefined) {
      const all = [...repairs];
      const filled = fillDefaults(plan, value, [], all);
      if (isJsonObject(filled) && this.#validator.check(filled)) return { ok: true, value: filled, repairs: Object.freeze(all) };
    }
    return this.#validator.check(value) ? { ok: true, value, repairs: Object.freeze(repairs) } : undefined;
  }

  #repairByWalk(input: JsonValue, options: RepairOptions): RepairOutcome {
    const { dropUnknownKeys, coerce = true, allowGuesses = false } = options;
    const walk = new RepairWalk(this.#shapes, { dropUnknownKeys, coerce, allowGuesses });
    const read = walk.parseInputText(input);
    if (!isJsonObject(read)) {
      const problem = walk.rejectedTexts.get("$") ?? `expected type object, got ${typeName(input)}`;
      return { ok: false, problems: [createProblem([], "type", problem)] };
    }
    const repaired = walk.repairValue(read);
    const proposed = isJsonObject(repaired) ? repaired : read;
    const outcome = proposed === input ? undefined : this.#acceptIfValid(proposed, walk.repairs);
    return outcome ?? { ok: false, problems: this.#validator.problems(proposed).map((problem) => explainProblem(problem, walk)) };
  }
}

/** Adds to a problem why the JSON text in its place was not accepted, which says more than the wrong type. */
function explainProblem(problem: SchemaProblem, { rejectedTexts }: RepairWalk): SchemaProblem {
  const reason = rejectedTexts.size === 0 ? undefined : rejectedTexts.get(problem.path);
  return reason === undefined ? problem : { ...problem, message: `${problem.message}; read as JSON: ${reason}` };
}
