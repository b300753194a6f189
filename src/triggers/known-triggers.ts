/** The known kinds of triggers, with their schemas compiled. */
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, findUnknownKeyError, type OptionNames } from "../core/known-keys.ts";
import { checkJsonSchema } from "../schema/check-json-schema.ts";
import { compileSchema, type Validator } from "../schema/compile-schema.ts";
import { SettingsError } from "./settings-error.ts";
import type { Trigger, TriggerScope } from "./trigger.ts";

const TRIGGER_FIELDS: OptionNames<Trigger> = {
  name: true,
  description: true,
  settingsSchema: true,
  universal: true,
  toolName: true,
  complete: true,
  nextAt: true,
  latestTick: true,
  start: true,
};
/** Keys of a definition that no setting may use. */
const RESERVED = ["name", "type"] as const;

export class KnownTrigger {
  readonly kind: Trigger;
  readonly #validator: Validator;

  /** @throws ToolError `invalid_argument`, `invalid_schema` */
  constructor(kind: Trigger) {
    checkKind(kind);
    this.kind = kind;
    checkJsonSchema(kind.settingsSchema);
    this.#validator = compileSchema(kind.settingsSchema);
  }

  get toolName(): string {
    return this.kind.toolName ?? `add_${this.kind.name}`;
  }

  /** Returns the settings as they are stored. @throws ToolError `invalid_argument`, and the errors of `complete` */
  settingsOf(given: JsonObject, scope: TriggerScope): JsonObject {
    this.#checkNames(given);
    const [problem] = this.#validator.problems(given, 1);
    if (problem !== undefined) {
      const [, key] = /^\$\.(\w+)/u.exec(problem.path) ?? [];
      throw new SettingsError(
        key,
        `The settings of a trigger of the type ${JSON.stringify(this.kind.name)}: ${problem.path}: ${problem.message}`,
      );
    }
    return this.kind.complete?.(given, scope) ?? given;
  }

  /** Rejects unknown settings, as for every option: a misspelt setting would have no effect. */
  #checkNames(given: JsonObject): void {
    const { name, settingsSchema } = this.kind;
    const { properties, additionalProperties } = settingsSchema;
    if (additionalProperties !== false || !isJsonObject(properties)) return;
    const key = Object.keys(given).find((one) => !Object.hasOwn(properties, one));
    if (key === undefined) return;
    const error = findUnknownKeyError({ [key]: true }, properties, `A trigger of the type ${JSON.stringify(name)}`);
    throw new SettingsError(key, error?.message ?? "", error?.hint === undefined ? {} : { hint: error.hint });
  }
}

/** Returns the kinds by name. @throws ToolError `invalid_argument`, `duplicate` */
export function knownTriggers(kinds: readonly Trigger[]): ReadonlyMap<string, KnownTrigger> {
  const known = new Map<string, KnownTrigger>();
  const toolNames = new Set<string>();
  for (const kind of kinds) {
    const one = new KnownTrigger(kind);
    if (known.has(kind.name)) throw new ToolError("duplicate", `There are two triggers of the type ${JSON.stringify(kind.name)}.`);
    if (toolNames.has(one.toolName))
      throw new ToolError("duplicate", `There are two triggers with the tool name ${JSON.stringify(one.toolName)}.`);
    known.set(kind.name, one);
    toolNames.add(one.toolName);
  }
  return known;
}

function checkKind(kind: Trigger): void {
  checkKnownKeys(kind, TRIGGER_FIELDS, "A trigger");
  const { name, description, settingsSchema } = kind;
  if (typeof name !== "string" || !/^[A-Za-z_][\w-]{0,63}$/u.test(name))
    throw new ToolError("invalid_argument", `The name of a kind of trigger is ${JSON.stringify(name)}; it takes letters, digits, _ and -.`);
  const owner = `The trigger ${JSON.stringify(name)}`;
  if (typeof description !== "string") throw new ToolError("invalid_argument", `${owner} has no description.`);
  if (typeof kind.start !== "function") throw new ToolError("invalid_argument", `${owner} has no start().`);
  if (!isJsonObject(settingsSchema) || settingsSchema["type"] !== "object")
    throw new ToolError("invalid_argument", `${owner} needs a settingsSchema with the type "object".`);
  const properties = settingsSchema["properties"];
  const taken = RESERVED.find((key) => isJsonObject(properties) && Object.hasOwn(properties, key));
  if (taken !== undefined)
    throw new ToolError("invalid_argument", `${owner} has a setting ${JSON.stringify(taken)}, which every trigger already has.`, {
      hint: "Give it another name.",
    });
}
