/** The hints of tools, toolsets and programs for a system prompt, in an order that does not depend on registration. */
import { describeThrown } from "../../core/error.ts";
import type { PromptContribution } from "../../core/tool.ts";
import { describeValueType } from "../../core/base/wording.ts";
import { compareText } from "../../trust/pinned-tool.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";

/** A hint of the program. */
export interface ProgramContribution extends Omit<PromptContribution, "text"> {
  /** The name by which the hint is sorted within its bucket, among the names of tools and toolsets. */
  readonly name: string;
  /** A function is called each time a prompt is built; if it throws, the hint is left out. */
  readonly text: string | (() => string);
}

type Bucket = "first" | "normal" | "last";

const BUCKETS: Readonly<Record<Bucket, number>> = { first: 0, normal: 1, last: 2 };

interface Hint {
  readonly bucket: number;
  readonly name: string;
  readonly text: string;
}

/** A hint with its source. */
interface Contributor {
  readonly name: string;
  readonly contribution: () => Pick<ProgramContribution, "text" | "bucket"> | undefined;
}

/**
 * Returns the hints of these tools, of their toolsets and of the program: by bucket, then by name, without duplicate texts.
 *
 * A hint that cannot be read is left out, and an unknown bucket counts as `normal`; `warn` is called for both.
 */
export function toolGuidance(
  tools: readonly RegisteredTool[],
  programs: readonly ProgramContribution[],
  warn: (message: string) => void,
): readonly string[] {
  const hints = contributors(tools, programs)
    .map((contributor) => readHint(contributor, warn))
    .filter((hint) => hint !== undefined);
  return [...new Set(hints.sort(compareHints).map(({ text }) => text))];
}

function contributors(tools: readonly RegisteredTool[], programs: readonly ProgramContribution[]): readonly Contributor[] {
  const toolsets = new Set(tools.map(({ toolset }) => toolset));
  return [
    ...tools.filter(mayContribute).map(({ qualifiedName, tool }) => ({ name: qualifiedName, contribution: () => tool.promptContribution })),
    ...Array.from(toolsets, (toolset) => ({ name: toolset.name, contribution: () => toolset.promptContribution })),
    ...programs.map((program) => ({ name: program.name, contribution: () => program })),
  ];
}

function mayContribute({ tool }: RegisteredTool): boolean {
  return "promptContribution" in tool;
}

function readHint({ name, contribution }: Contributor, warn: (message: string) => void): Hint | undefined {
  try {
    const { text, bucket = "normal" } = contribution() ?? { text: "" };
    const hint: unknown = typeof text === "function" ? text() : text;
    if (typeof hint !== "string") throw new TypeError(`it returned ${describeValueType(hint)}, not a string`);
    const trimmed = hint.trim().toWellFormed();
    if (trimmed === "") return undefined;
    return { bucket: BUCKETS[knownBucket(bucket) ?? warnOfBucket(name, bucket, warn)], name, text: trimmed };
  } catch (thrown: unknown) {
    warn(`The prompt contribution of ${JSON.stringify(name)} is left out: ${describeThrown(thrown)}`);
    return undefined;
  }
}

function knownBucket(bucket: string): Bucket | undefined {
  return bucket === "first" || bucket === "normal" || bucket === "last" ? bucket : undefined;
}

function warnOfBucket(name: string, bucket: unknown, warn: (message: string) => void): Bucket {
  warn(`The prompt contribution of ${JSON.stringify(name)} has the bucket ${JSON.stringify(bucket)}, which is treated as "normal".`);
  return "normal";
}

function compareHints(one: Hint, other: Hint): number {
  return one.bucket - other.bucket || compareText(one.name, other.name) || compareText(one.text, other.text);
}
