/** Parses the calls of a sequence, which may be untrusted, and reports malformed ones. */
import { getOwn } from "../../core/base/get-own.ts";
import { describeThrown } from "../../core/error.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { referenceId, type ReferenceSyntax } from "./reference.ts";
import type { SequenceCall, SequenceProblem } from "./sequence-problem.ts";

export interface ReadSequence {
  /** In order; undefined for a call that cannot be parsed. */
  readonly calls: readonly (SequenceCall | undefined)[];
  /** The first call with each id, without its dollar sign. */
  readonly ids: ReadonlyMap<string, number>;
  /** In call order. */
  readonly problems: readonly SequenceProblem[];
}

interface ReadOptions extends ReferenceSyntax {
  readonly allowDuplicates: boolean;
  /** Returns the name that all names of one tool have in common. */
  readonly toolOf: (name: string) => string;
}

const MAX_CALLS = 1_000;
const MAX_ID_LENGTH = 1_024;
const CALL_KEYS: ReadonlySet<string> = new Set(["id", "name", "input", "arguments", "reasoning"]);
const CALL_FORM_HINT = 'Write calls as {"id": "$1", "name": "…", "arguments": {…}}.';

export function readSequence(sequence: unknown, options: ReadOptions): ReadSequence {
  const reader = new SequenceReader(options);
  try {
    if (!Array.isArray(sequence))
      reader.addProblem({ reason: "malformed", index: -1, message: "A sequence is an array of calls.", hint: CALL_FORM_HINT });
    else if (sequence.length > MAX_CALLS)
      reader.addProblem({
        reason: "malformed",
        index: -1,
        message: `The sequence has ${sequence.length} calls; ${MAX_CALLS} is the limit.`,
      });
    else for (let index = 0; index < sequence.length; index++) reader.readEntry(sequence, index);
  } catch (thrown: unknown) {
    reader.addProblem({ reason: "malformed", index: -1, message: `The sequence cannot be read: ${describeThrown(thrown)}` });
  }
  return reader;
}

class SequenceReader implements ReadSequence {
  readonly calls: (SequenceCall | undefined)[] = [];
  readonly ids = new Map<string, number>();
  readonly problems: SequenceProblem[] = [];
  readonly #options: ReadOptions;
  /** The first call with each canonical text. */
  readonly #seen = new Map<string, number>();

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  addProblem(problem: SequenceProblem): undefined {
    this.problems.push(problem);
    return undefined;
  }

  readEntry(sequence: readonly unknown[], index: number): void {
    let copied: JsonValue;
    try {
      copied = copyJson(sequence[index] ?? null).value;
    } catch (thrown: unknown) {
      this.calls.push(undefined);
      return this.addProblem({ reason: "malformed", index, message: `Call ${index} is not JSON: ${describeThrown(thrown)}` });
    }
    const call = this.#readCall(copied, index);
    this.calls.push(call);
    if (call === undefined || this.#options.allowDuplicates) return;
    const text = canonicalJson([this.#options.toolOf(call.name), call.input]);
    const twin = this.#seen.get(text);
    if (twin === undefined) this.#seen.set(text, index);
    else
      this.addProblem({
        reason: "duplicate_call",
        index,
        call,
        message: `Call ${index} repeats call ${twin}: ${call.name} with the same input.`,
      });
  }

  #readCall(raw: JsonValue, index: number): SequenceCall | undefined {
    if (!isJsonObject(raw))
      return this.addProblem({ reason: "malformed", index, message: `Call ${index} is not an object.`, hint: CALL_FORM_HINT });
    const id = this.#readId(raw, index);
    this.#checkKeys(raw, index);
    const name = this.#readName(raw, index);
    const input = this.#readInput(raw, index);
    if (name === undefined || input === undefined) return undefined;
    const { reasoning } = raw;
    return Object.freeze({
      ...(id === undefined ? {} : { id }),
      name,
      input,
      ...(typeof reasoning === "string" ? { reasoning } : {}),
    });
  }

  #readId(raw: JsonObject, index: number): string | undefined {
    const given = getOwn(raw, "id");
    if (given === undefined || given === null) return undefined;
    const id = typeof given === "number" ? String(given) : given;
    const bare = typeof id === "string" && id.length <= MAX_ID_LENGTH ? referenceId(id, this.#options) : "";
    if (typeof id !== "string" || bare === "") {
      const hint = `An id is a string of at most ${MAX_ID_LENGTH} characters.`;
      return this.addProblem({ reason: "malformed", index, message: `The id of call ${index} cannot be used.`, hint });
    }
    const first = this.ids.get(bare);
    if (first === undefined) this.ids.set(bare, index);
    else
      this.addProblem({
        reason: "duplicate_id",
        index,
        message: `Call ${index} has the same id as call ${first}: ${JSON.stringify(bare)}.`,
      });
    return id;
  }

  #checkKeys(raw: JsonObject, index: number): void {
    const extra = Object.keys(raw).filter((key) => !CALL_KEYS.has(key));
    if (Object.hasOwn(raw, "input") && Object.hasOwn(raw, "arguments")) extra.push("input and arguments");
    if (extra.length === 0) return;
    const named = extra.slice(0, 10).map((key) => key.slice(0, 80));
    this.addProblem({
      reason: "extra_keys",
      index,
      message: `Call ${index} has keys that a call does not have: ${named.join(", ")}.`,
      hint: CALL_FORM_HINT,
    });
  }

  #readName(raw: JsonObject, index: number): string | undefined {
    const name = getOwn(raw, "name");
    if (name === undefined || name === null || name === "")
      return this.addProblem({ reason: "missing_name", index, message: `Call ${index} has no name.`, hint: CALL_FORM_HINT });
    if (typeof name === "string") return name;
    return this.addProblem({ reason: "malformed", index, message: `The name of call ${index} is not a string.`, hint: CALL_FORM_HINT });
  }

  #readInput(raw: JsonObject, index: number): JsonObject | undefined {
    const input = getOwn(raw, "arguments") ?? getOwn(raw, "input");
    if (input === undefined) {
      const hint = 'If there are none, send "arguments": {}.';
      return this.addProblem({ reason: "missing_arguments", index, message: `Call ${index} has no arguments.`, hint });
    }
    if (isJsonObject(input)) return input;
    return this.addProblem({
      reason: "malformed",
      index,
      message: `The arguments of call ${index} are not an object.`,
      hint: CALL_FORM_HINT,
    });
  }
}
