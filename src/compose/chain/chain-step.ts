/** The steps of a chain: which tool, where its arguments come from, and where its output goes. */
import { copyJson, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { readPath, type JsonStep } from "../../core/base/json-steps.ts";
import { own } from "../../core/base/own.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";

/** Where an argument comes from: a path in the context such as `flights[0].id`, the same with a value for where nothing is there, or a value. */
export type ChainSource = string | { readonly path: string; readonly default: JsonValue } | { readonly value: JsonValue };

/** One step of a chain. */
export interface ChainStep {
  /** The tool's qualified name, or its name alone where only one tool has it. */
  readonly tool: string;
  /** By argument of the tool, where it comes from. @default the whole context is the input */
  readonly inputMapping?: Readonly<Record<string, ChainSource>>;
  /** The key of the context that its output is kept under. @default "": the keys of its output become keys of the context */
  readonly outputKey?: string;
}

const STEP: OptionNames<ChainStep> = { tool: true, inputMapping: true, outputKey: true };
const PATH_HINT = 'Write a path in the context as a.b[0].c, a key with other characters as ["my.key"], and a value as { value: … }.';

/** One argument, with its path read. */
export interface ArgumentSource {
  readonly argument: string;
  /** As it was written; undefined for a value. */
  readonly path: string | undefined;
  readonly steps: readonly JsonStep[];
  /** The value, or the default. */
  readonly value: JsonValue | undefined;
}

/** A step as it was read. */
export interface ReadStep {
  /** Frozen; what `Chain.steps` shows. */
  readonly step: ChainStep;
  /** Undefined for a step that is given the whole context. */
  readonly sources: readonly ArgumentSource[] | undefined;
}

/** Copies a step. @throws ToolError `invalid_argument` naming its place */
export function readStep(step: ChainStep, index: number): ReadStep {
  const owner = `Step ${index} of the chain`;
  checkKnownKeys(step, STEP, owner);
  const { tool, inputMapping = {}, outputKey = "" } = step;
  if (typeof tool !== "string") throw wrong(`${owner} has a tool that is not a string.`, 'Name it: { tool: "flights::search" }.');
  if (typeof outputKey !== "string") throw wrong(`outputKey of step ${index} of the chain is not a string.`);
  const mapping: JsonValue = copyOf(inputMapping, `inputMapping of step ${index} of the chain`);
  if (!isJsonObject(mapping)) throw wrong(`inputMapping of step ${index} of the chain is not an object.`, PATH_HINT);
  const sources = Object.keys(mapping).map((argument) => readSource(argument, own(mapping, argument) ?? null, index));
  return {
    step: Object.freeze({ tool, inputMapping: mapping as NonNullable<ChainStep["inputMapping"]>, outputKey }), // each source was read
    sources: sources.length === 0 ? undefined : sources,
  };
}

function readSource(argument: string, source: JsonValue, index: number): ArgumentSource {
  const place = `The argument ${JSON.stringify(argument)} of step ${index} of the chain`;
  if (typeof source === "string") return { argument, path: source, steps: pathOf(source, place), value: undefined };
  if (!isJsonObject(source)) throw wrong(`${place} has no source.`, PATH_HINT);
  if (Object.hasOwn(source, "value")) {
    checkKnownKeys(source, { value: true }, place);
    return { argument, path: undefined, steps: [], value: own(source, "value") };
  }
  checkKnownKeys(source, { path: true, default: true }, place);
  const path = own(source, "path");
  if (typeof path !== "string") throw wrong(`${place} has no path.`, PATH_HINT);
  return { argument, path, steps: pathOf(path, place), value: own(source, "default") };
}

function pathOf(path: string, place: string): readonly JsonStep[] {
  const steps = readPath(path);
  if (steps === undefined || steps.length === 0)
    throw wrong(`${place} comes from ${JSON.stringify(path.slice(0, 200))}, which is not a path in the context.`, PATH_HINT);
  return steps;
}

/** @throws ToolError `invalid_argument` naming the owner */
export function copyOf(value: unknown, owner: string): JsonValue {
  try {
    return copyJson(value).value;
  } catch (thrown: unknown) {
    throw wrong(`${owner} is not JSON: ${ToolError.fromUnknown(thrown).message}`);
  }
}

function wrong(message: string, hint?: string): ToolError {
  return new ToolError("invalid_argument", message, hint === undefined ? {} : { hint });
}
