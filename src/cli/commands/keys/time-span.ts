/** Spans of time on the command line: minutes, hours or days. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** `90m`, `12h` and `30d` in milliseconds; undefined for anything else, and for no time at all. */
export function spanOf(text: string): number | undefined {
  const [, count = "", unit = ""] = /^(\d{1,7})([mhd])$/u.exec(text) ?? [];
  const spanMs = Number(count) * (UNITS.get(unit) ?? 0);
  return spanMs > 0 ? spanMs : undefined;
}
