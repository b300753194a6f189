/** The sources that can answer a call: from the tool itself down to a prepared text. */
import { ToolError } from "../error.ts";

/**
 * The sources that can answer a call, the most real first.
 *
 * `live`: the tool itself. `record`: the same, and the call is recorded for later. `replay`: a recording. `cache`: the tool's answer to an equal
 * call, if it is still kept. `lm`: a model that simulates the tool. `example`: generated from the output schema. `stub`: prepared answers.
 */
export const ANSWER_SOURCES = ["live", "record", "replay", "cache", "lm", "example", "stub"] as const;
/** One of `ANSWER_SOURCES`. */
export type AnswerSource = (typeof ANSWER_SOURCES)[number];

/** One source, or a fallback chain: each source is used if those before it have no answer. */
export type AnswerSources = AnswerSource | readonly AnswerSource[];

/** Returns the sources as an array. @param whose their owner, for the message. @throws ToolError `invalid_argument` */
export function readAnswerSources(sources: unknown, whose: string): readonly AnswerSource[] {
  const list: readonly unknown[] = Array.isArray(sources) ? sources : [sources];
  const wrong = list.filter((source) => !isSource(source));
  if (wrong.length > 0 || list.length === 0)
    throw new ToolError(
      "invalid_argument",
      `${whose} names ${wrong[0] === undefined ? "no source" : `the source ${formatSource(wrong[0])}`}.`,
      {
        hint: `Known sources: ${ANSWER_SOURCES.join(", ")}.`,
      },
    );
  const sourcesOnly = list.filter(isSource);
  const real = sourcesOnly.find(isRealSource);
  if (real !== undefined && sourcesOnly.length > 1)
    throw new ToolError("invalid_argument", `${whose} names ${real} together with others, but ${real} always has an answer.`, {
      hint: `Give ${real} alone, or leave it out: nothing else ever falls back to it.`,
    });
  return Object.freeze([...new Set(sourcesOnly)]);
}

/** Whether a call answered by this source really happens. */
export function isRealSource(source: AnswerSource): source is "live" | "record" {
  return source === "live" || source === "record";
}

function isSource(value: unknown): value is AnswerSource {
  return ANSWER_SOURCES.some((source) => source === value);
}

function formatSource(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 50)) : `of type ${typeof value}`;
}
