/** The settings that a tool, its toolset or the runtime may have: their bounds, their defaults, and how they are inherited. */
import { COUNT, MILLISECONDS, SIZE, checkNumber, type Bounds } from "./base/number-bounds.ts";
import type { CallSettings } from "./tool.ts";

type Name = keyof CallSettings;

export const CALL_SETTINGS = {
  timeoutMs: { ...MILLISECONDS, zero: "no limit", default: 30_000 },
  deadlineMs: { ...MILLISECONDS, zero: "no limit", default: 0 },
  maxAttempts: { ...COUNT, max: 100, default: 4 },
  maxResultBytes: { ...SIZE, zero: "no limit", default: 65_536 },
  promoteAfterMs: { ...MILLISECONDS, zero: "never", default: 0 },
} as const satisfies Record<Name, Bounds & { readonly default: number }>;

export const CALL_SETTING_NAMES = Object.keys(CALL_SETTINGS) as readonly Name[]; // the table's own keys

export const DEFAULT_CALL_SETTINGS: Required<CallSettings> = Object.freeze(settingsOf((name) => CALL_SETTINGS[name].default));

function settingsOf(value: (name: Name) => number): Required<CallSettings> {
  return {
    timeoutMs: value("timeoutMs"),
    deadlineMs: value("deadlineMs"),
    maxAttempts: value("maxAttempts"),
    maxResultBytes: value("maxResultBytes"),
    promoteAfterMs: value("promoteAfterMs"),
  };
}

/** Returns the settings that are set, without other fields of the object. */
export function pickCallSettings(from: CallSettings): CallSettings {
  return Object.fromEntries(CALL_SETTING_NAMES.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]));
}

/** Fills settings that `own` leaves out from `inherited`; returns `inherited` itself if `own` sets nothing. */
export function inheritSettings(own: CallSettings, inherited: Required<CallSettings>): Required<CallSettings> {
  return hasAnySetting(own) ? settingsOf((name) => own[name] ?? inherited[name]) : inherited;
}

export function hasSameSettings(one: Required<CallSettings>, other: Required<CallSettings>): boolean {
  return CALL_SETTING_NAMES.every((name) => one[name] === other[name]);
}

export function hasAnySetting(settings: CallSettings): boolean {
  return CALL_SETTING_NAMES.some((name) => settings[name] !== undefined);
}

/**
 * Checks the call settings and, if set, `maxConcurrent`.
 *
 * @param owner the owner of the settings, for the message: `tool "mail::send"`
 * @throws ToolError `invalid_argument` naming the setting, its value and what would work
 */
export function checkCallSettings(settings: CallSettings & { readonly maxConcurrent?: number }, owner: string): void {
  for (const name of CALL_SETTING_NAMES) checkNumber(settings[name], `${name} of ${owner}`, CALL_SETTINGS[name]);
  checkNumber(settings.maxConcurrent, `maxConcurrent of ${owner}`, COUNT);
}

/** Checks one optional number of milliseconds, 0 included. @throws ToolError `invalid_argument` */
export function checkMs(value: unknown, name: string, owner: string): void {
  checkNumber(value, `${name} of ${owner}`, MILLISECONDS);
}
