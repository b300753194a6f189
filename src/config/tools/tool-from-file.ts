/** Makes a tool from one definition in a file, in any of the common shapes. */
import type { Effects } from "../../core/resources/effects.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { checkTool } from "../../registry/check-registration.ts";
import { PLAIN_FIELDS, toolFromJson } from "../../registry/tool-definition.ts";
import { importSchema } from "../../schema/import-schema.ts";
import { EFFECT_PRESETS } from "../tables/effects-config.ts";
import { kindOf } from "../table-reader.ts";
import { nearKey, unknownKey } from "../near-key.ts";

export interface ToolFromFile {
  readonly tool: Tool;
  /** The namespace in the definition. */
  readonly namespace: string | undefined;
  /** Type names that were replaced, one line each. */
  readonly notes: readonly string[];
  /** The first unknown keys, one line each. */
  readonly unknown: readonly string[];
}

/** The keys of an input schema: ours and MCP's, Anthropic's, OpenAI's and fms-dgt's, that of descriptors. */
const INPUT_WORDS = ["inputSchema", "input_schema", "parameters", "arguments"];
const OUTPUT_WORDS = ["outputSchema", "output_schema", "output_parameters", "returns"];
const OWN_WORDS = ["name", "namespace", "description", "effects", "concurrency_safe", "metadata", "cache", "environment", ...PLAIN_FIELDS];
/** The keys for whether the tool is offered: ours, that of other systems. */
const ENABLED_WORDS = ["enabled", "enable"];
/** The keys of the Evennia AI assistant's tools for `cache`. */
const CACHE_WORDS = ["cacheable", "cache_scope", "cache_ttl"];
/** Keys that other systems write and that have no meaning here. */
const OTHER_WORDS = ["type", "strict", "annotations", "_meta", "icons", "execution", "cache_control", "$schema"];
/** Unknown keys with which other systems limit a tool: without its limit, the tool is not loaded. */
const PROTECTIVE_KEY = /approv|confirm|permission|danger|destructive|disabled?$|forbid|restrict/iu;
/** Our keys that limit a tool: a tool with a misspelled one is not loaded. */
const PROTECTIVE_WORDS: ReadonlySet<string> = new Set(["effects", "enabled", "oncePerTurn", "requires", "requiresReading"]);
const MAX_UNKNOWN = 20;
const SUGGESTED = ["inputSchema", "outputSchema", ...OWN_WORDS];
const KNOWN: ReadonlySet<string> = new Set([
  ...INPUT_WORDS,
  ...OUTPUT_WORDS,
  ...OWN_WORDS,
  ...ENABLED_WORDS,
  ...CACHE_WORDS,
  ...OTHER_WORDS,
]);

/**
 * Reads `{name, description, parameters}`, the shapes of OpenAI and MCP, and our own with `effects` as data.
 *
 * Type names that JSON Schema does not have (`dict`, `float`) are replaced. An output schema of `{}` is ignored. MCP's hints can only add caution.
 *
 * @param key the name of a tool that has none
 * @throws ToolError saying what is wrong with the definition
 */
export function toolFromFile(value: unknown, key?: string): ToolFromFile {
  const outer = requireTable(value, "a tool");
  const wrapped = readField(outer, "function");
  const fields = wrapped === undefined ? outer : { ...outer, ...requireTable(wrapped, '"function"') };
  const notes: string[] = [];
  const type = readField(fields, "type");
  if (type !== undefined && type !== "function")
    throw invalidToolError(`a tool of type ${JSON.stringify(type)} is not read; a definition is of type "function".`);
  const unknown = Object.keys(fields).filter((word) => !KNOWN.has(word) && !(wrapped !== undefined && word === "function"));
  checkProtection(fields, unknown);
  const namespace = namespaceOf(fields);
  const { tool } = toolFromJson(toCanonicalFields(fields, key, notes));
  checkTool(tool);
  return {
    tool: withHints(tool, readField(fields, "annotations")),
    namespace,
    notes,
    unknown: unknown.slice(0, MAX_UNKNOWN).map((word) => `${word}: ${unknownKey(word, SUGGESTED)}`),
  };
}

/** A keyword of schemas that is written next to the schema by mistake; it is near to `requires`, and limits nothing. */
const MISPLACED_KEYWORD = "required";
/** Values with which an unknown key limits nothing, such as `require_approval: "never"`. */
const OFF_VALUES: ReadonlySet<unknown> = new Set([undefined, false, 0, "", "false", "never"]);

/** @throws ToolError for an unknown key that seems to limit the tool, and is not switched off */
function checkProtection(fields: object, unknown: readonly string[]): void {
  const ignored = unknown.find((word) => {
    if (word === MISPLACED_KEYWORD || OFF_VALUES.has(readField(fields, word))) return false;
    return PROTECTIVE_KEY.test(word) || PROTECTIVE_WORDS.has(nearKey(word, SUGGESTED) ?? "");
  });
  if (ignored === undefined) return;
  const near = nearKey(ignored, SUGGESTED);
  const instead = near !== undefined && PROTECTIVE_WORDS.has(near) ? `Did you mean ${JSON.stringify(near)}?` : PROTECTION_HINT;
  throw invalidToolError(`${ignored} is an unknown key that seems to limit the tool, so the tool is left out. ${instead}`);
}

const PROTECTION_HINT =
  'What limits a tool: "enabled", "effects" (with destructive: true, approval is asked), and the tables [permission] and [approval] of a configuration.';

/** Whether the table has any key that is specific to tools. */
export function looksLikeTool(value: object): boolean {
  return [...INPUT_WORDS, "description", "function"].some((word) => Object.hasOwn(value, word));
}

/** Converts the definition to the keys of `toolFromJson`. */
function toCanonicalFields(fields: object, key: string | undefined, notes: string[]): Readonly<Record<string, unknown>> {
  const input = schemaOf(fields, INPUT_WORDS, notes);
  const output = schemaOf(fields, OUTPUT_WORDS, notes);
  const effects = readField(fields, "effects");
  const enabled = findWord(fields, ENABLED_WORDS, "the same switch");
  const kept = [...OWN_WORDS, ...CACHE_WORDS].filter((word) => word !== "namespace" && Object.hasOwn(fields, word));
  return {
    ...Object.fromEntries(kept.map((word) => [word, readField(fields, word)])),
    name: readField(fields, "name") ?? key,
    description: readField(fields, "description") ?? "",
    parameters: input ?? {},
    ...(output === undefined ? {} : { output_parameters: output }),
    ...(enabled === undefined ? {} : { enabled: readField(fields, enabled) }),
    ...(typeof effects === "string" ? { effects: presetOf(effects) } : {}),
  };
}

function schemaOf(fields: object, words: readonly string[], notes: string[]): JsonSchema | undefined {
  const word = findWord(fields, words, "the same schema");
  if (word === undefined) return undefined;
  const value = readField(fields, word);
  if (typeof value !== "boolean" && !isJsonObject(value)) throw invalidToolError(`${word} must be a JSON Schema, not ${kindOf(value)}.`);
  const imported = importSchema(value);
  for (const note of imported.notes) notes.push(`${word}${note.slice(1)}`);
  return imported.schema;
}

/** Returns the only one of several keys for one thing that is set; undefined if none is. */
function findWord(fields: object, words: readonly string[], meaning: string): string | undefined {
  const given = words.filter((word) => readField(fields, word) !== undefined);
  if (given.length > 1) throw invalidToolError(`${given.join(" and ")} are words for ${meaning}; keep one.`);
  return given[0];
}

function namespaceOf(fields: object): string | undefined {
  const namespace = readField(fields, "namespace");
  if (namespace === undefined || typeof namespace === "string") return namespace;
  throw invalidToolError(`namespace must be a string, not ${kindOf(namespace)}.`);
}

function presetOf(word: string): Effects {
  const preset = EFFECT_PRESETS.get(word);
  if (preset === undefined)
    throw invalidToolError(`effects must be an object, or one of ${[...EFFECT_PRESETS.keys()].join(", ")}, not ${JSON.stringify(word)}.`);
  return preset;
}

function withHints(tool: Tool, annotations: unknown): Tool {
  if (!isJsonObject(annotations) || tool.effects !== undefined) return tool;
  const hints = {
    ...(readField(annotations, "destructiveHint") === true ? { destructive: true } : {}),
    ...(readField(annotations, "openWorldHint") === true ? { external: true } : {}),
  };
  return Object.keys(hints).length === 0 ? tool : { ...tool, effects: hints };
}

function requireTable(value: unknown, what: string): object {
  if (isJsonObject(value)) return value;
  throw invalidToolError(`${what} must be an object with a name, a description and parameters, not ${kindOf(value)}.`);
}

/** Treats null as missing. */
function readField(table: object, key: string): unknown {
  return Object.hasOwn(table, key) ? (Reflect.get(table, key) ?? undefined) : undefined;
}

function invalidToolError(problem: string): ToolError {
  return new ToolError("invalid_config", problem);
}
