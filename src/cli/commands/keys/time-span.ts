/** Spans of time on the command line: minutes, hours or days. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** Converts `90m`, `12h` or `30d` to milliseconds; undefined for other text, and for a span of zero. */
export function parseTimeSpan(text: string): number | undefined {
  const [, count = "", unit = ""] = /^(\d{1,7})([mhd])$/u.exec(text) ?? [];
  const spanMs = Number(count) * (UNITS.get(unit) ?? 0);
  return spanMs > 0 ? spanMs : undefined;
}
