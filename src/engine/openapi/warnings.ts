/** Collects the warnings of an import, each with its place in the document. */
import { escapePointerStep } from "../../core/base/json-pointer.ts";
import { plural } from "../../core/base/wording.ts";

/** The path to a value as a linked list, which is written out only for a warning. */
export interface Place {
  readonly parent: Place | undefined;
  readonly step: string;
}

export const ROOT: Place = { parent: undefined, step: "" };

export function childPlace(place: Place, ...steps: readonly string[]): Place {
  let at = place;
  for (const step of steps) at = { parent: at, step };
  return at;
}

/** The JSON pointer of a place, `#/paths/~1pets/get`; the document itself is `#`. */
export function pointerOf(place: Place): string {
  const steps: string[] = [];
  for (let at: Place | undefined = place; at?.parent !== undefined; at = at.parent) {
    steps.push(escapePointerStep(truncateText(at.step, MAX_STEP_LENGTH)));
  }
  return ["#", ...steps.reverse()].join("/");
}

const MAX_STEP_LENGTH = 200;
const MAX_LINES = 500;

/** The warnings of one import, without duplicates, in the order in which they were found. */
export class Warnings {
  readonly #lines = new Set<string>();
  #omittedCount = 0;

  /** @param text the problem and its consequence */
  add(place: Place, text: string): void {
    if (this.#lines.size >= MAX_LINES) this.#omittedCount++;
    else this.addLine(`${pointerOf(place)}: ${text}`);
  }

  addLine(text: string): void {
    // a document's text may contain terminal control characters
    const line = text.replaceAll(/\p{C}/gu, "?");
    if (this.#lines.has(line)) return;
    if (this.#lines.size < MAX_LINES) this.#lines.add(line);
    else this.#omittedCount++;
  }

  get lines(): readonly string[] {
    return this.#omittedCount === 0
      ? [...this.#lines]
      : [
          ...this.#lines,
          `${plural(this.#omittedCount, "more warning, or the same one again, is", "more warnings, or the same ones again, are")} left out.`,
        ];
  }
}

/** The beginning of a text that is too long, without half a surrogate pair at its end. */
export function truncateText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 2);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxLength - 2 : maxLength - 1)}…`;
}

/** A short quotation for a warning. */
export function quote(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(truncateText(value, 100));
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}
