/** What the rules found: how often each was asked, and how often it was broken. */
import type { JsonValue } from "../../src/core/base/json.ts";

/** Undefined where a rule has nothing to say. */
export type Verdict = boolean | undefined;

export class Verdicts {
  readonly counts = new Map<string, { checked: number; violated: number }>();
  readonly violations = new Map<string, string[]>();
  readonly #texts = new Map<string, number>();
  #objects = 0;

  add(rule: string, verdict: Verdict, tell: () => string): void {
    if (verdict === undefined) return;
    let count = this.counts.get(rule);
    if (count === undefined) this.counts.set(rule, (count = { checked: 0, violated: 0 }));
    count.checked++;
    if (verdict) return;
    count.violated++;
    const lines = this.violations.get(rule);
    if (lines === undefined) this.violations.set(rule, [tell()]);
    else if (lines.length < 500) lines.push(tell());
  }

  object(): void {
    this.#objects++;
  }

  /** Free text: three words or more. */
  text(value: JsonValue): void {
    if (typeof value === "string" && value.split(" ").length > 2) this.#texts.set(value, (this.#texts.get(value) ?? 0) + 1);
  }

  cell(rule: string): string {
    const { checked, violated } = this.counts.get(rule) ?? { checked: 0, violated: 0 };
    return checked === 0 ? "-" : `${violated}/${checked} ${((100 * violated) / checked).toFixed(1)}%`;
  }

  total(): string {
    const all = [...this.counts.values()];
    const checked = all.reduce((sum, one) => sum + one.checked, 0);
    const violated = all.reduce((sum, one) => sum + one.violated, 0);
    return checked === 0 ? "-" : `${violated}/${checked} ${((100 * violated) / checked).toFixed(1)}%`;
  }

  /** The share of calls that say the same. */
  commonest(): string {
    const most = Math.max(0, ...this.#texts.values());
    return `${most}/${this.#objects} 1 in ${most === 0 ? "-" : Math.round(this.#objects / most)}`;
  }

  commonestTexts(): string {
    const sorted = [...this.#texts].toSorted(([, a], [, b]) => b - a).slice(0, 3);
    return sorted.map(([text, count]) => `${count}x ${JSON.stringify(text.slice(0, 60))}`).join(", ");
  }
}
