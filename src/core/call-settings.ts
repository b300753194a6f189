/** Checks numbers a program or a file sets, so that a wrong one is refused where it stands and not when it bites. */
import { ToolError } from "./error.ts";
import type { CallSettings } from "./tool.ts";

/** Longest time any setting may name: ten years. */
const MAX_MS = 315_576_000_000;

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly integer: boolean;
}

const CALL_SETTINGS = {
  timeoutMs: { min: 0, max: MAX_MS, integer: false },
  deadlineMs: { min: 0, max: MAX_MS, integer: false },
  maxAttempts: { min: 1, max: 100, integer: true },
  maxResultBytes: { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true },
} as const satisfies Record<keyof CallSettings, Bounds>;

/**
 * Checks the call settings and, where set, `maxConcurrent`.
 *
 * @param owner whose settings they are, for the message: `tool "mail::send"`
 * @throws ToolError `invalid_argument` naming the setting, its value and what would work
 */
export function checkSettings(settings: CallSettings & { readonly maxConcurrent?: number }, owner: string): void {
  for (const [name, bounds] of Object.entries(CALL_SETTINGS)) checkNumber(Reflect.get(settings, name), name, bounds, owner);
  checkNumber(settings.maxConcurrent, "maxConcurrent", { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true }, owner);
}

/** Checks one optional number of milliseconds, 0 included. @throws ToolError `invalid_argument` */
export function checkMs(value: unknown, name: string, owner: string): void {
  checkNumber(value, name, { min: 0, max: MAX_MS, integer: false }, owner);
}

function checkNumber(value: unknown, name: string, bounds: Bounds, owner: string): void {
  if (value === undefined) return;
  const fits = typeof value === "number" && value >= bounds.min && value <= bounds.max && (!bounds.integer || Number.isInteger(value));
  if (fits) return;
  const kind = bounds.integer ? "an integer" : "a number";
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new ToolError("invalid_argument", `${name} of ${owner} is ${shown}; it takes ${kind} from ${bounds.min} to ${bounds.max}.`);
}
