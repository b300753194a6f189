/** Converts between a time and the local time of a zone. A local time is written as the UTC time with the same digits, in milliseconds. */

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;

export class WallClock {
  readonly #format: Intl.DateTimeFormat;

  /** @throws RangeError for an unknown zone */
  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** Returns the local time at a time, truncated to whole seconds. */
  toLocalTime(time: number): number {
    const parts = new Map(this.#format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  }

  /** When the clock shows a local time: the first time if it is set back over it, the moment of the change if it is set forward over it. */
  fromLocalTime(shown: number): number {
    const times = [this.#offsetAt(shown - DAY_MS), this.#offsetAt(shown + DAY_MS)].map((aheadMs) => shown - aheadMs);
    const [first = shown, last = shown] = times.toSorted((a, b) => a - b);
    const found = [first, last].find((time) => this.toLocalTime(time) === shown);
    return found ?? this.#findChange(first, last);
  }

  /** How far the zone is ahead of UTC at a time, in milliseconds. */
  #offsetAt(time: number): number {
    return this.toLocalTime(time) - Math.floor(time / SECOND_MS) * SECOND_MS;
  }

  #findChange(before: number, after: number): number {
    const aheadMs = this.#offsetAt(before);
    let [from, to] = [before, after];
    while (to - from > SECOND_MS) {
      const middle = Math.floor((from + to) / 2 / SECOND_MS) * SECOND_MS;
      if (this.#offsetAt(middle) === aheadMs) from = middle;
      else to = middle;
    }
    return to;
  }
}
