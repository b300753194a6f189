/** Chooses among overloads by the input. */
import { isJsonObject, type JsonValue } from "../core/base/json.ts";
import { ToolError } from "../core/error.ts";
import { isComputerTool, readSafetyChecks, withoutSafetyChecks } from "../core/safety-checks.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { repairInput } from "../schema/repair/repair-input.ts";
import { fingerprintOf } from "./prepare-toolset.ts";
import type { RegisteredTool } from "./registered-tool.ts";

/**
 * Returns the overload that an input is meant for.
 *
 * A single candidate is chosen for any input. Of several, those whose schema accepts the input unchanged are considered, or all if none does. The one
 * whose `properties` name most keys of the input is chosen, and of equal ones the first registered. Quarantined candidates are chosen only if there
 * are no others.
 *
 * @throws ToolError `invalid_argument` if there are no candidates
 */
export function chooseOverload(candidates: readonly RegisteredTool[], input: JsonValue): RegisteredTool {
  const [first] = candidates;
  if (first === undefined) throw new ToolError("invalid_argument", "There is no candidate to choose from.");
  if (candidates.length === 1) return first;
  const checks = isJsonObject(input) ? readSafetyChecks(input) : undefined;
  const computers = checks === undefined ? [] : candidates.filter(({ tool }) => isComputerTool(tool));
  if (computers.length > 0 && isJsonObject(input)) return chooseOverload(computers, withoutSafetyChecks(input, checks));
  const usable = candidates.filter((candidate) => candidate.quarantine === undefined);
  const fitting = usable.filter((candidate) => candidate.inputValidator.check(input));
  return findMostKeys(fitting.length > 0 ? fitting : usable, input) ?? first;
}

/** Accepts any object. Text is parsed as JSON, as it would be for the tool's own schema. */
const ANY_OBJECT = compileSchema(true);

/** Returns the input by which an overload is chosen: text is read as the JSON that it holds. @param input plain JSON */
export function toOverloadInput(input: unknown): JsonValue {
  const sent = input as JsonValue; // copied into plain JSON by the caller
  if (typeof sent !== "string") return sent;
  const read = repairInput(sent, ANY_OBJECT, { dropUnknownKeys: false, allowGuesses: true });
  return read.ok ? read.value : sent;
}

/** The fingerprint to offer a tool with; undefined unless several tools of its name are on offer. @param family all tools of its name */
export function offeredFingerprint(registered: RegisteredTool, family: readonly RegisteredTool[]): string | undefined {
  if (registered.tool.providerExecuted === true || family.length < 2 || family.filter(isOffered).length < 2) return undefined;
  return fingerprintOf(registered);
}

function isOffered({ enabled, denied, blocked }: RegisteredTool): boolean {
  return enabled && denied === undefined && blocked === undefined;
}

function findMostKeys(candidates: readonly RegisteredTool[], input: JsonValue): RegisteredTool | undefined {
  const keys = isJsonObject(input) ? Object.keys(input) : [];
  let best: RegisteredTool | undefined;
  let bestCount = -1;
  for (const candidate of candidates) {
    const count = countDeclared(candidate, keys);
    if (count > bestCount) {
      best = candidate;
      bestCount = count;
    }
  }
  return best;
}

function countDeclared({ tool }: RegisteredTool, keys: readonly string[]): number {
  const properties = typeof tool.inputSchema === "object" ? tool.inputSchema["properties"] : undefined;
  if (!isJsonObject(properties)) return 0;
  let count = 0;
  for (const key of keys) if (Object.hasOwn(properties, key)) count++;
  return count;
}
