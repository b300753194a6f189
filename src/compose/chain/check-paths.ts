/** Finds the paths of a chain that lead nowhere, as far as that is known before it runs. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import { describeMissing, followSteps, outlineOf, type JsonStep } from "../../core/base/json-steps.ts";
import type { ArgumentSource, ReadStep } from "./chain-step.ts";

/** The context before each step, as far as it is known: the input, and under which keys outputs are kept. */
export class KnownContext {
  readonly #input: JsonObject | undefined;
  /** Keys that are there, with values that are not known. */
  readonly #open = new Set<string>();
  /** A step has merged the keys of its output, whichever these are. */
  #isMerged = false;

  /** @param input undefined where it is not known either */
  constructor(input: JsonObject | undefined) {
    this.#input = input;
  }

  /** The arguments of the next step that cannot have a value, each in words. */
  problemsOf({ sources = [], step: { outputKey = "" } }: ReadStep): readonly string[] {
    const problems = sources.flatMap((source) => this.#problemOf(source) ?? []);
    if (outputKey === "") this.#isMerged = true;
    else this.#open.add(outputKey);
    return problems;
  }

  #problemOf(source: ArgumentSource): string | undefined {
    const { path, steps, value } = source;
    const [root] = steps;
    if (path === undefined || value !== undefined || root === undefined || this.#input === undefined) return undefined;
    if (this.#isMerged || this.#open.has(String(root))) return undefined;
    const followed = followSteps(this.#input, steps);
    return "value" in followed ? undefined : leadsNowhere(source, followed, followed.in === this.#input ? this.#shown : undefined);
  }

  /** The context with what is not known in it. */
  get #shown(): JsonObject {
    const { size } = this.#open;
    return size === 0 ? (this.#input ?? {}) : { ...this.#input, ...Object.fromEntries([...this.#open].map((key) => [key, null])) };
  }
}

/** Describes a path without a value. @param context that it begins in, where the way ends at its beginning */
export function leadsNowhere(
  { argument, path = "" }: ArgumentSource,
  { missing, in: end }: { readonly missing: JsonStep; readonly in: JsonValue },
  context: JsonObject | undefined,
): string {
  const where = context === undefined ? outlineOf(end) : `the context, ${outlineOf(context)}`;
  const from = `the argument ${JSON.stringify(argument.slice(0, 100))} comes from ${JSON.stringify(path.slice(0, 200))}`;
  return `${from}, which leads nowhere: ${describeMissing(missing, end, where)}.`;
}
