/** Checks names that programs and models choose, and people read in lists. */
import { quoteValue } from "./wording.ts";
import { ToolError } from "../error.ts";

const MAX_LENGTH = 128;
const VISIBLE = /^[^\s\p{C}](?:[^\p{C}]*[^\s\p{C}])?$/u;

/** Returns a string without control characters, and without white space at either end. @throws ToolError `invalid_argument` naming `subject` */
export function checkVisibleName(value: unknown, subject: string): string {
  if (typeof value === "string" && value.length <= MAX_LENGTH && VISIBLE.test(value)) return value;
  const given = quoteValue(typeof value === "string" ? value.slice(0, MAX_LENGTH) : value);
  throw new ToolError("invalid_argument", `${subject} is ${given}; it takes 1 to ${MAX_LENGTH} visible characters.`);
}
