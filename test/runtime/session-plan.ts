/** The calls that random sessions make: what their tools declare, and what their handlers do. */
import type { JsonValue } from "../../src/core/base/json.ts";

/** Virtual milliseconds after which an attempt is given up. */
export const TIMEOUT_MS = 41;
/** What the tool `flap` asks for between its two attempts. */
export const RETRY_MS = 16;
/** Keys of state. */
export const KEYS = ["a", "b", "c"] as const;

/** `note` writes the session's state only, `flap` fails the first time, `gone` is not a tool. */
export const RULES = {
  look: { writesWorld: false, repeatable: true },
  flap: { writesWorld: false, repeatable: true },
  note: { writesWorld: false, repeatable: false },
  put: { writesWorld: true, repeatable: true },
  pay: { writesWorld: true, repeatable: false },
  gone: { writesWorld: false, repeatable: true },
} as const;

export type Op =
  | { readonly op: "set" | "append"; readonly key: string; readonly value: JsonValue }
  | { readonly op: "delete" | "read"; readonly key: string };

/** One call: what its handler does at once, how long it takes (0 = it answers at once), what it does then, and how it ends. */
export interface CallPlan {
  /** Tells it from every other call. */
  readonly n: number;
  readonly tool: keyof typeof RULES;
  readonly first: readonly Op[];
  readonly ms: number;
  readonly last: readonly Op[];
  readonly end: "return" | "throw";
}

export function applyOp(before: JsonValue | undefined, op: Op): JsonValue | undefined {
  if (op.op === "set") return op.value;
  if (op.op === "append") return [...(Array.isArray(before) ? before : []), op.value];
  return op.op === "delete" ? undefined : before;
}
