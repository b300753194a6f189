/** How real an answer is asked to be: from the tool itself down to a text that was written beforehand. */
import { ToolError } from "./error.ts";

/**
 * Who answers a call, the most real first.
 *
 * `live`: the tool itself. `record`: the same, and the call is written down for later. `replay`: a recording. `cache`: what the tool
 * answered to an equal call, where it is kept. `lm`: a model that plays the tool. `example`: made up from the output schema. `stub`:
 * answers that somebody wrote.
 */
export const RUNGS = ["live", "record", "replay", "cache", "lm", "example", "stub"] as const;
/** Where a result may come from: one of `RUNGS`. */
export type Rung = (typeof RUNGS)[number];

/** One, or several of which each is asked where those before it have no answer. */
export type Rungs = Rung | readonly Rung[];

/** The rungs as a list. @throws ToolError `invalid_argument`, saying whose they are */
export function rungList(rungs: unknown, whose: string): readonly Rung[] {
  const list: readonly unknown[] = Array.isArray(rungs) ? rungs : [rungs];
  const wrong = list.filter((rung) => !isRung(rung));
  if (wrong.length > 0 || list.length === 0)
    throw new ToolError("invalid_argument", `${whose} names ${wrong[0] === undefined ? "no rung" : `the rung ${show(wrong[0])}`}.`, {
      hint: `There are: ${RUNGS.join(", ")}.`,
    });
  const rungsOnly = list.filter(isRung);
  const real = rungsOnly.find(isReal);
  if (real !== undefined && rungsOnly.length > 1)
    throw new ToolError("invalid_argument", `${whose} names ${real} beside others, but what is ${real} always has an answer.`, {
      hint: `Give ${real} alone, or leave it out: nothing else ever falls back to it.`,
    });
  return Object.freeze([...new Set(rungsOnly)]);
}

/** Whether a call on this rung does what it says. */
export function isReal(rung: Rung): rung is "live" | "record" {
  return rung === "live" || rung === "record";
}

function isRung(value: unknown): value is Rung {
  return RUNGS.some((rung) => rung === value);
}

function show(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 50)) : `of type ${typeof value}`;
}
