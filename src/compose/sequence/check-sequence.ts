/** Checks a sequence of calls before any of them runs. */
import { pushAll } from "../../core/collections/push-all.ts";
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { formatJsonPath } from "../../core/base/json.ts";
import type { Registry } from "../../registry/registry.ts";
import { checkInput, type InputProblem, type InputRules } from "./check-input.ts";
import { ReferenceReader, quoteReference, type ReferenceSyntax } from "./reference.ts";
import { findReferences, type FoundReference } from "./resolve-input.ts";
import { readSequence, type ReadSequence } from "./read-sequence.ts";
import type { SequenceCall, SequenceProblem } from "./sequence-problem.ts";
import { createToolFinder, type FindTool, type FoundTool, type SequenceTool } from "./sequence-tools.ts";

/** The rules for a sequence. */
export interface SequenceRules extends ReferenceSyntax {
  /** Whether references inside longer texts are replaced as well, by the text of the value. @default false: they are `indirect_reference` */
  readonly inText?: boolean;
  /** Whether calls may, must or may not refer to others. @default "allowed" */
  readonly nesting?: "allowed" | "required" | "forbidden";
  /** Whether inputs are checked against the schemas of their tools before the sequence runs; if false, only each call is checked. @default true */
  readonly schemas?: boolean;
  /** Whether values that the runtime would repair, such as `"5"` for 5, are a `schema_violation`. @default false */
  readonly strictTypes?: boolean;
  /** Whether to refuse arguments that a schema with properties does not name, even if it allows others. @default false */
  readonly declaredOnly?: boolean;
  /** Whether a call may be repeated with the same input. @default false: it is `duplicate_call` */
  readonly allowDuplicates?: boolean;
}

export const RULE_NAMES: OptionNames<SequenceRules> = {
  closingDollar: true,
  inText: true,
  nesting: true,
  schemas: true,
  strictTypes: true,
  declaredOnly: true,
  allowDuplicates: true,
};

export interface CheckSequenceOptions extends SequenceRules {
  /** The available tools. In an array, definitions are found by their exact names. @default names and inputs are not checked */
  readonly tools?: Registry | readonly SequenceTool[];
}

/** Calls that may run in parallel, by their indexes in the sequence. Each layer depends on the ones before it. */
export type SequenceLayers = readonly (readonly number[])[];

/** The order in which the calls may run, or all problems. */
export type SequenceCheck =
  | { readonly valid: true; readonly layers: SequenceLayers }
  | { readonly valid: false; readonly problems: readonly SequenceProblem[] };

/** A valid sequence, with the data needed to run it. */
export interface CheckedSequence {
  readonly valid: true;
  readonly layers: SequenceLayers;
  readonly calls: readonly SequenceCall[];
  readonly reader: ReferenceReader;
}

const MAX_PROBLEMS = 100;

/**
 * Returns the problems of a sequence of calls, or which of them may run in parallel.
 *
 * A call is `{id?, name, arguments}`; `input` may be written for `arguments`. A string of the input that is a reference, such as `$1.items[0].id`, is
 * replaced by a part of an earlier call's output; its type is not known before that, so only its presence is checked. Every problem is reported, at
 * most 100, in call order. At most 1,000 calls. Invalid calls never throw.
 *
 * A call is in a later layer than the calls that it refers to. If the tools declare effects, a call is also in no earlier layer than a call before
 * it, unless both only read.
 */
export function checkSequence(calls: unknown, options: CheckSequenceOptions = {}): SequenceCheck {
  checkKnownKeys(options, { ...RULE_NAMES, tools: true }, "checkSequence()");
  const checked = readCheckedSequence(calls, options);
  return checked.valid ? { valid: true, layers: checked.layers } : checked;
}

/** Like `checkSequence`, and returns the parsed calls. */
export function readCheckedSequence(
  calls: unknown,
  options: CheckSequenceOptions,
): CheckedSequence | { readonly valid: false; readonly problems: readonly SequenceProblem[] } {
  const { tools, allowDuplicates = false } = options;
  const find = tools === undefined ? undefined : createToolFinder(tools);
  const sequence = readSequence(calls, { ...options, allowDuplicates, toolOf: (name) => toolNameOf(find?.(name)) ?? name });
  const checker = new SequenceChecker(sequence, find, options);
  const problems = checker.check();
  if (problems.length > 0) return { valid: false, problems };
  const validCalls = sequence.calls.filter((call) => call !== undefined);
  return { valid: true, layers: checker.layers(), calls: validCalls, reader: checker.reader };
}

function toolNameOf(found: FoundTool | ToolError | undefined): string | undefined {
  return found instanceof ToolError ? undefined : found?.name;
}

class SequenceChecker {
  readonly reader: ReferenceReader;
  readonly #sequence: ReadSequence;
  readonly #find: FindTool | undefined;
  readonly #rules: SequenceRules;
  readonly #problems: SequenceProblem[] = [];
  /** For each call, the calls that it refers to. */
  readonly #dependencies: Set<number>[] = [];
  readonly #tools: (FoundTool | undefined)[] = [];

  constructor(sequence: ReadSequence, find: FindTool | undefined, rules: SequenceRules) {
    checkRules(rules);
    this.reader = new ReferenceReader(sequence.ids.keys(), rules);
    this.#sequence = sequence;
    this.#find = find;
    this.#rules = rules;
  }

  check(): readonly SequenceProblem[] {
    const { calls, problems } = this.#sequence;
    const ofForm = Map.groupBy(problems, ({ index }) => index);
    pushAll(this.#problems, ofForm.get(-1) ?? []);
    for (const [index, call] of calls.entries()) {
      pushAll(this.#problems, ofForm.get(index) ?? []);
      if (call !== undefined) this.#checkCall(call, index);
      if (this.#problems.length >= MAX_PROBLEMS) break;
    }
    if (this.#problems.length === 0 && this.#rules.nesting === "required" && this.#dependencies.every((needs) => needs.size === 0)) {
      const hint = 'Let a call use the result of an earlier one: "$1.items[0].id".';
      this.#problems.push({ reason: "nesting_required", index: -1, message: "No call refers to another.", hint });
    }
    return this.#problems.slice(0, MAX_PROBLEMS);
  }

  /** Puts each call into the earliest layer possible. Requires a valid sequence. */
  layers(): SequenceLayers {
    const layers: number[][] = [];
    let lastWrite = 0;
    let last = 0;
    const placed: number[] = [];
    for (const [index, needs] of this.#dependencies.entries()) {
      const mayWrite = this.#tools[index]?.mayWrite === true;
      let layer = mayWrite ? last : lastWrite;
      for (const needed of needs) layer = Math.max(layer, (placed[needed] ?? 0) + 1);
      placed.push(layer);
      (layers[layer] ??= []).push(index);
      last = Math.max(last, layer);
      if (mayWrite) lastWrite = layer;
    }
    return layers;
  }

  #checkCall(call: SequenceCall, index: number): void {
    const found = findReferences(call.input, this.reader);
    const needs = new Set<number>();
    this.#dependencies[index] = needs;
    for (const one of found) {
      if (this.#problems.length >= MAX_PROBLEMS) return;
      this.#checkReference(one, { call, index, needs });
    }
    const tool = this.#find?.(call.name);
    if (tool instanceof ToolError) {
      const hint = tool.hint === undefined ? {} : { hint: tool.hint };
      this.#problems.push({ reason: "unknown_tool", index, call, message: tool.message, ...hint });
      return;
    }
    this.#tools[index] = tool;
    if (tool === undefined || this.#rules.schemas === false) return;
    for (const { path, message, isUnknownArgument } of this.#checkInput(call, tool, found)) {
      const reason = isUnknownArgument ? "unknown_argument" : "schema_violation";
      this.#problems.push({ reason, index, path, call, message: `${call.name}: ${path}: ${message}` });
    }
  }

  /** Returns no problems if any overload fits; else those of the first. */
  #checkInput(call: SequenceCall, tool: FoundTool, found: readonly FoundReference[]): readonly InputProblem[] {
    const { strictTypes = false, declaredOnly = false } = this.#rules;
    const rules: InputRules = { strictTypes, declaredOnly };
    const places = found.map(({ at }) => at);
    let first: readonly InputProblem[] = [];
    for (const [index, validator] of tool.validators.entries()) {
      const problems = checkInput(call.input, validator, places, rules);
      if (problems.length === 0) return problems;
      if (index === 0) first = problems;
    }
    return first;
  }

  #checkReference(
    { reference, at, isWhole }: FoundReference,
    { call, index, needs }: { readonly call: SequenceCall; readonly index: number; readonly needs: Set<number> },
  ): void {
    const quoted = quoteReference(reference.text);
    const problem = { index, path: formatJsonPath(at), call };
    const named = this.#sequence.ids.get(reference.id);
    const escape = `For the text itself, write ${quoteReference(`$${reference.text}`)}.`;
    if (!isWhole && this.#rules.inText !== true) {
      const message = `Call ${index} has the reference ${quoted} inside a longer text, where it is not replaced.`;
      this.#problems.push({ ...problem, reason: "indirect_reference", message, hint: `Make the reference the whole text. ${escape}` });
    }
    if (named === undefined) {
      const ids = [...this.#sequence.ids.keys()].slice(0, 10).map((id) => `$${id.slice(0, 80)}`);
      const hint = `${ids.length === 0 ? "No call has an id." : `Calls: ${ids.join(", ")}.`} ${escape}`;
      this.#problems.push({
        ...problem,
        reason: "missing_reference",
        message: `Call ${index} refers to ${quoted}, but there is no such call.`,
        hint,
      });
      return;
    }
    if (named >= index) {
      const which = named === index ? "itself" : `call ${named}, which comes later`;
      this.#problems.push({
        ...problem,
        reason: "future_reference",
        message: `Call ${index} uses ${quoted} to refer to ${which}.`,
        hint: escape,
      });
      return;
    }
    needs.add(named);
    if (this.#rules.nesting === "forbidden")
      this.#problems.push({ ...problem, reason: "nesting_forbidden", message: `Call ${index} uses ${quoted} to refer to call ${named}.` });
  }
}

function checkRules({ nesting = "allowed" }: SequenceRules): void {
  if (nesting === "allowed" || nesting === "required" || nesting === "forbidden") return;
  const message = `nesting of a sequence is ${quoteValue(nesting)}; it takes "allowed", "required" or "forbidden".`;
  throw new ToolError("invalid_argument", message);
}
