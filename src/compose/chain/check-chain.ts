/** Checks a chain before any of its steps runs. */
import type { JsonObject } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import type { Registry } from "../../registry/registry.ts";
import { checkInput } from "../sequence/check-input.ts";
import { createToolFinder, type FoundTool, type SequenceTool } from "../sequence/sequence-tools.ts";
import { circleFinder } from "./chain-circle.ts";
import { KnownContext } from "./known-context.ts";
import type { ReadStep } from "./chain-step.ts";

/** How many chains of a circle a message names. */
const MAX_SHOWN = 10;

/** A problem of a chain, and its place. */
export interface ChainProblem {
  /** The number of the step, from 0; -1 for the chain as a whole. */
  readonly step: number;
  /** The tool as the step names it; left out for the chain as a whole. */
  readonly tool?: string;
  readonly message: string;
  readonly hint?: string;
}

/** Either every step can be run, or all problems that are known beforehand. */
export type ChainCheck = { readonly valid: true } | { readonly valid: false; readonly problems: readonly ChainProblem[] };

/** Returns the problems of the steps, in order. @param input the initial context; undefined if it is not known */
export function findChainProblems(
  steps: readonly ReadStep[],
  tools: Registry | readonly SequenceTool[],
  input: JsonObject | undefined,
): readonly ChainProblem[] {
  if (steps.length === 0) return [{ step: -1, message: "The chain has no steps." }];
  const find = createToolFinder(tools);
  const findCircle = circleFinder(find);
  const context = new KnownContext(input);
  return steps.flatMap((read, index): readonly ChainProblem[] => {
    const { tool } = read.step;
    const paths = context.findProblems(read);
    if (tool === "") return [{ step: index, tool, message: `Step ${index} of the chain names no tool.` }];
    const found = find(tool);
    if (found instanceof ToolError) {
      const hint = found.hint === undefined ? {} : { hint: found.hint };
      return [{ step: index, tool, message: `Step ${index} of the chain: ${found.message}`, ...hint }];
    }
    return [...inputProblems(read, found), ...paths, ...circleProblems(findCircle(found))].map((message) => ({
      step: index,
      tool,
      message: `Step ${index} of the chain (${tool}): ${message}`,
    }));
  });
}

function circleProblems(circle: readonly string[] | undefined): readonly string[] {
  return circle === undefined ? [] : [`it cannot succeed, because a chain calls itself: ${describeCircle(circle)}.`];
}

function describeCircle(circle: readonly string[]): string {
  const shown = circle.length <= MAX_SHOWN ? circle : [...circle.slice(0, MAX_SHOWN - 2), "…", ...circle.slice(-1)];
  return shown.join(" → ");
}

/** Returns the problems of a step's input. Which arguments exist is known, but only some values; if the input is the whole context, nothing is. */
function inputProblems({ sources }: ReadStep, { validators }: FoundTool): readonly string[] {
  if (sources === undefined) return [];
  const input: JsonObject = Object.fromEntries(
    sources.map(({ argument, path, value }) => [argument, path === undefined ? (value ?? null) : null]),
  );
  const unknownPlaces = sources.filter(({ path }) => path !== undefined).map(({ argument }) => [argument]);
  let first: readonly string[] = [];
  for (const [index, validator] of validators.entries()) {
    const problems = checkInput(input, validator, unknownPlaces, { strictTypes: false, declaredOnly: false });
    if (problems.length === 0) return [];
    if (index === 0) first = problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return first;
}
