/** The fingerprint under which the recordings know a state: the first 16 hex digits of SHA-256 over JSON with sorted keys. */
import { createHash } from "node:crypto";
import type { JsonValue } from "../../../src/core/base/json.ts";

/** Texts of parts that large states share: of frozen ones only, since those stay what they are. */
const texts = new WeakMap<object, string>();
const hashes = new WeakMap<object, string>();
/** Shorter texts are made as fast as they are found; longer ones would keep too much memory. */
const KEPT = { least: 256, most: 262_144 };

/** Two states of one hash are equal. The hash of a frozen state is worked out once. */
export function stateHash(state: JsonValue): string {
  const isFixed = typeof state === "object" && state !== null && Object.isFrozen(state);
  const known = isFixed ? hashes.get(state) : undefined;
  if (known !== undefined) return known;
  const hash = createHash("sha256").update(sortedText(state)).digest("hex").slice(0, 16);
  if (isFixed) hashes.set(state, hash);
  return hash;
}

/** The same, of the value as it is now, whatever was found of it before. */
export function uncachedStateHash(state: JsonValue): string {
  return stateHash(structuredClone(state));
}

function sortedText(value: JsonValue | undefined): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = Array.isArray(value) ? `[${value.map(sortedText).join(",")}]` : membersText(value as Readonly<Record<string, JsonValue>>);
  if (text.length >= KEPT.least && text.length <= KEPT.most && Object.isFrozen(value)) texts.set(value, text);
  return text;
}

function membersText(object: Readonly<Record<string, JsonValue>>): string {
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${sortedText(object[key])}`);
  return `{${members.join(",")}}`;
}
