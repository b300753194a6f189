/** Runs a sequence of calls whose inputs refer to the outputs of earlier calls. */
import { ToolError } from "../../core/error.ts";
import { ONE_COPY_HINT } from "../../core/system/duplicate-package.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import type { ToolResult } from "../../core/result.ts";
import type { RoundOptions } from "../../runtime/round.ts";
import type { WholeResult } from "../../policy/results/large-result-store.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { ROUND_OPTIONS } from "../../runtime/session-turn.ts";
import { RuntimeSession, type SessionTurn } from "../../runtime/runtime-session.ts";
import { NO_USAGE } from "../loop-result.ts";
import { RULE_NAMES, readCheckedSequence, type CheckedSequence, type SequenceLayers, type SequenceRules } from "./check-sequence.ts";
import { referenceId, quoteReference, valueAt, type Reference } from "./reference.ts";
import { resolveReferences } from "./resolve-input.ts";
import { answerOf, wholeResult } from "./whole-result.ts";
import type { SequenceCall, SequenceProblem } from "./sequence-problem.ts";

/** Options of `runSequence`: how the calls are checked and run. */
export interface RunSequenceOptions extends SequenceRules, Omit<RoundOptions, "rewriteInput"> {}

const { rewriteInput: _rewriteInput, ...OF_ROUNDS } = ROUND_OPTIONS;
const OPTIONS: OptionNames<RunSequenceOptions> = { ...OF_ROUNDS, ...RULE_NAMES };

/** The result of a sequence. An invalid sequence has run nothing. */
export type SequenceRun =
  | {
      readonly valid: true;
      /** One result for each call, in call order. */
      readonly results: readonly ToolResult[];
      /** The calls that ran in parallel, by their indexes in the sequence. */
      readonly layers: SequenceLayers;
    }
  | { readonly valid: false; readonly results: readonly []; readonly problems: readonly SequenceProblem[] };

/**
 * Runs a sequence of calls in one turn of a session, layer by layer. With a runtime, a session is begun for the run and then closed.
 *
 * The sequence is checked first (see `checkSequence`), with the tools of the runtime; if it is invalid, nothing runs. A string that is a reference is
 * replaced by the value, with its JSON type, before the input is repaired, validated and run; the log has the call with its references, and each
 * layer as one message. A call whose reference has no value, because the call it names failed or its output has nothing there, ends `invalid_input`
 * and is not run; calls that do not depend on it continue. References see the whole of an output that was cut for the model.
 *
 * Background tools are waited for, and slow calls are not promoted, unless `background` is true; a `stateful` tool still becomes a job.
 *
 * @throws ToolError `invalid_argument` for invalid options and for a session that is closed or gets closed meanwhile: its log has the outcome of the
 * calls that had begun; `cancelled` if the signal aborts before the turn begins; `store_failed`. All by rejecting
 */
export async function runSequence(
  target: RuntimeSession | Runtime,
  calls: readonly unknown[],
  options: RunSequenceOptions = {},
): Promise<SequenceRun> {
  checkKnownKeys(options, OPTIONS, "runSequence()");
  if (target instanceof RuntimeSession) return await runInSession(target, calls, options);
  if (!(target instanceof Runtime))
    throw new ToolError("invalid_argument", "A sequence runs in a runtime or in a session of a runtime.", { operatorHint: ONE_COPY_HINT });
  if (options.background === true)
    throw new ToolError(
      "invalid_argument",
      'The option "background" of runSequence() needs a session: the jobs would end with the sequence.',
      {
        hint: "Use runSequence(session, calls, { background: true }).",
      },
    );
  const session = target.session();
  try {
    return await runInSession(session, calls, options);
  } finally {
    await session.close();
  }
}

async function runInSession(session: RuntimeSession, calls: readonly unknown[], options: RunSequenceOptions): Promise<SequenceRun> {
  const checked = readCheckedSequence(calls, { ...options, tools: session.registry });
  if (!checked.valid) return { valid: false, results: [], problems: checked.problems };
  const { signal } = options;
  const results = await session.turn(
    (turn) => new SequenceRunner({ session, turn }, checked, options).run(),
    signal === undefined ? {} : { signal },
  );
  return { valid: true, results, layers: checked.layers };
}

/** Removes the rules of the sequence, which a round does not take. */
function roundOptionsOf(options: RunSequenceOptions): RoundOptions {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !Object.hasOwn(RULE_NAMES, name)));
}

interface Stage {
  readonly session: RuntimeSession;
  readonly turn: SessionTurn;
}

class SequenceRunner {
  readonly #session: RuntimeSession;
  readonly #turn: SessionTurn;
  readonly #sequence: CheckedSequence;
  readonly #options: RunSequenceOptions;
  readonly #roundOptions: RoundOptions;
  readonly #results: ToolResult[] = [];
  /** Each call and its result, by id without its dollar sign. */
  readonly #answers = new Map<string, { readonly call: SequenceCall; readonly result: ToolResult }>();

  constructor({ session, turn }: Stage, sequence: CheckedSequence, options: RunSequenceOptions) {
    this.#session = session;
    this.#turn = turn;
    this.#sequence = sequence;
    this.#options = options;
    this.#roundOptions = { ...roundOptionsOf(options), background: options.background ?? false };
  }

  async run(): Promise<readonly ToolResult[]> {
    for (const layer of this.#sequence.layers) await this.#runLayer(layer);
    return this.#results;
  }

  async #runLayer(layer: readonly number[]): Promise<void> {
    const calls = layer.flatMap((index) => this.#sequence.calls[index] ?? []);
    const round = this.#turn.round({ ...this.#roundOptions, rewriteInput: ({ input }) => this.#resolveInput(input) });
    for (const call of calls) round.add(call);
    const results = await round.end({ content: "", finish: "calls", usage: NO_USAGE });
    for (const [place, result] of results.entries()) {
      const call = calls[place];
      this.#results[layer[place] ?? 0] = result;
      if (call?.id !== undefined) this.#answers.set(referenceId(call.id, this.#options), { call, result });
    }
  }

  #resolveInput(input: unknown): JsonValue {
    const { reader } = this.#sequence;
    return resolveReferences(input as JsonValue, reader, (reference) => this.#resolveReference(reference)); // frozen JSON, copied by the check
  }

  /** @throws ToolError `invalid_input` if there is no value */
  #resolveReference(reference: Reference): JsonValue {
    const answer = this.#answers.get(reference.id);
    if (answer === undefined) throw noValueError(reference, "the call it names has not run");
    const { call, result } = answer;
    if (!isAnswered(result)) throw noValueError(reference, `${call.name} ended with ${result.error?.code ?? result.status}`);
    const output = pickOutput(this.#getWholeResult(result, reference), reference);
    if (output === undefined) throw noValueError(reference, `${call.name} has returned nothing`);
    return valueAt(output, reference);
  }

  /** Returns the tool's whole answer, even if the model is shown less of it. */
  #getWholeResult(result: ToolResult, reference: Reference): WholeResult {
    const whole = wholeResult(this.#session, result);
    if (typeof whole === "string") throw noValueError(reference, whole, "Raise its maxResultBytes; 0 = no limit.");
    return whole;
  }
}

/** Whether the call ran and has an output, even one that violates its schema. */
function isAnswered({ status }: ToolResult): boolean {
  return status === "ok" || status === "partial";
}

/** Returns the output of a tool, or its text if it answered with content only. Text that is JSON is parsed if the reference has a path. */
function pickOutput(whole: WholeResult, reference: Reference): JsonValue | undefined {
  const answered = answerOf(whole);
  if (typeof answered !== "string" || reference.steps.length === 0) return answered;
  try {
    const parsed = parseJson(answered, { longIntegers: "string" }); // as every engine reads JSON
    return isJsonArray(parsed) || isJsonObject(parsed) ? parsed : answered;
  } catch {
    return answered; // not JSON
  }
}

function noValueError({ text }: Reference, why: string, hint = "Make that call again first, or give the value itself."): ToolError {
  return new ToolError("invalid_input", `The reference ${quoteReference(text)} has no value: ${why}.`, { hint });
}
