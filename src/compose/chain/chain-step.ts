import { copyJson, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { parsePathSteps, type JsonStep } from "../../core/base/json-steps.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";

/** The source of an argument: a path in the context such as `flights[0].id`, a path with a default for when nothing is there, or a value. */
export type ChainSource = string | { readonly path: string; readonly default: JsonValue } | { readonly value: JsonValue };

/** One step of a chain. */
export interface ChainStep {
  /** The tool's qualified name, or its plain name if only one tool has it. */
  readonly tool: string;
  /** The source of each argument of the tool. @default the whole context is the input */
  readonly inputMapping?: Readonly<Record<string, ChainSource>>;
  /** The key of the context under which the output is kept. @default "": the keys of the output become keys of the context */
  readonly outputKey?: string;
}

const STEP: OptionNames<ChainStep> = { tool: true, inputMapping: true, outputKey: true };
const PATH_HINT = 'Write a path in the context as a.b[0].c, a key with other characters as ["my.key"], and a value as { value: … }.';

/** One argument, with its path parsed. */
export interface ArgumentSource {
  readonly argument: string;
  /** The path as written; undefined for a value. */
  readonly path: string | undefined;
  readonly steps: readonly JsonStep[];
  /** The value, or the default of a path. */
  readonly value: JsonValue | undefined;
}

/** A step with its arguments parsed. */
export interface ReadStep {
  /** Frozen; returned by `Chain.steps`. */
  readonly step: ChainStep;
  /** Undefined if the input is the whole context. */
  readonly sources: readonly ArgumentSource[] | undefined;
}

/** Copies and parses a step. @throws ToolError `invalid_argument` naming its place */
export function readStep(step: ChainStep, index: number): ReadStep {
  const owner = `Step ${index} of the chain`;
  checkKnownKeys(step, STEP, owner);
  const { tool, inputMapping = {}, outputKey = "" } = step;
  if (typeof tool !== "string") throw chainStepError(`${owner} has a tool that is not a string.`, 'Name it: { tool: "flights::search" }.');
  if (typeof outputKey !== "string") throw chainStepError(`outputKey of step ${index} of the chain is not a string.`);
  const mapping: JsonValue = copyAsJson(inputMapping, `inputMapping of step ${index} of the chain`);
  if (!isJsonObject(mapping)) throw chainStepError(`inputMapping of step ${index} of the chain is not an object.`, PATH_HINT);
  const sources = Object.keys(mapping).map((argument) => readSource(argument, getOwn(mapping, argument) ?? null, index));
  return {
    step: Object.freeze({ tool, inputMapping: mapping as NonNullable<ChainStep["inputMapping"]>, outputKey }), // `readSource` has checked each source
    sources: sources.length === 0 ? undefined : sources,
  };
}

function readSource(argument: string, source: JsonValue, index: number): ArgumentSource {
  const place = `The argument ${JSON.stringify(argument)} of step ${index} of the chain`;
  if (typeof source === "string") return { argument, path: source, steps: parsePath(source, place), value: undefined };
  if (!isJsonObject(source)) throw chainStepError(`${place} has no source.`, PATH_HINT);
  if (Object.hasOwn(source, "value")) {
    checkKnownKeys(source, { value: true }, place);
    return { argument, path: undefined, steps: [], value: getOwn(source, "value") };
  }
  checkKnownKeys(source, { path: true, default: true }, place);
  const path = getOwn(source, "path");
  if (typeof path !== "string") throw chainStepError(`${place} has no path.`, PATH_HINT);
  return { argument, path, steps: parsePath(path, place), value: getOwn(source, "default") };
}

function parsePath(path: string, place: string): readonly JsonStep[] {
  const steps = parsePathSteps(path);
  if (steps === undefined || steps.length === 0)
    throw chainStepError(`${place} comes from ${JSON.stringify(path.slice(0, 200))}, which is not a path in the context.`, PATH_HINT);
  return steps;
}

/** @throws ToolError `invalid_argument` naming the owner */
export function copyAsJson(value: unknown, owner: string): JsonValue {
  try {
    return copyJson(value).value;
  } catch (thrown: unknown) {
    throw chainStepError(`${owner} is not JSON: ${ToolError.fromUnknown(thrown).message}`);
  }
}

function chainStepError(message: string, hint?: string): ToolError {
  return new ToolError("invalid_argument", message, hint === undefined ? {} : { hint });
}
