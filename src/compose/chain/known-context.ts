/** Finds the paths of a chain that cannot have a value, as far as that is known before it runs. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import { describeMissingStep, followSteps, describeOutline, type JsonStep } from "../../core/base/json-steps.ts";
import type { ArgumentSource, ReadStep } from "./chain-step.ts";

/** The known part of the context before each step: the input, and the keys under which outputs are kept. */
export class KnownContext {
  readonly #input: JsonObject | undefined;
  /** Keys that will exist, with unknown values. */
  readonly #unknownKeys = new Set<string>();
  /** Whether a step has merged the keys of its output, which are unknown. */
  #isMerged = false;

  /** @param input undefined if it is not known either */
  constructor(input: JsonObject | undefined) {
    this.#input = input;
  }

  /** Describes the arguments of the next step that cannot have a value. */
  findProblems({ sources = [], step: { outputKey = "" } }: ReadStep): readonly string[] {
    const problems = sources.flatMap((source) => this.#findProblem(source) ?? []);
    if (outputKey === "") this.#isMerged = true;
    else this.#unknownKeys.add(outputKey);
    return problems;
  }

  #findProblem(source: ArgumentSource): string | undefined {
    const { path, steps, value } = source;
    const [root] = steps;
    if (path === undefined || value !== undefined || root === undefined || this.#input === undefined) return undefined;
    if (this.#isMerged || this.#unknownKeys.has(String(root))) return undefined;
    const followed = followSteps(this.#input, steps);
    return "value" in followed
      ? undefined
      : describeMissingPath(source, followed, followed.in === this.#input ? this.#knownContext : undefined);
  }

  /** The context, with null for unknown values. */
  get #knownContext(): JsonObject {
    const { size } = this.#unknownKeys;
    return size === 0 ? (this.#input ?? {}) : { ...this.#input, ...Object.fromEntries([...this.#unknownKeys].map((key) => [key, null])) };
  }
}

/** Describes a path without a value. @param context the context, if already the first step of the path is missing */
export function describeMissingPath(
  { argument, path = "" }: ArgumentSource,
  { missing, in: end }: { readonly missing: JsonStep; readonly in: JsonValue },
  context: JsonObject | undefined,
): string {
  const where = context === undefined ? describeOutline(end) : `the context, ${describeOutline(context)}`;
  const from = `the argument ${JSON.stringify(argument.slice(0, 100))} comes from ${JSON.stringify(path.slice(0, 200))}`;
  return `${from}, which does not exist: ${describeMissingStep(missing, end, where)}.`;
}
