/** Runs a sequence of calls whose inputs refer to what earlier ones answered. */
import { ToolError } from "../../core/error.ts";
import { ONE_COPY } from "../../core/other-copy.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import type { RoundOptions } from "../../runtime/round.ts";
import type { WholeResult } from "../../policy/results/large-result-store.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { ROUND_OPTIONS } from "../../runtime/session-turn.ts";
import { RuntimeSession, type SessionTurn } from "../../runtime/runtime-session.ts";
import { NO_USAGE } from "../loop-result.ts";
import { RULE_NAMES, readAndCheck, type CheckedSequence, type SequenceLayers, type SequenceRules } from "./check-sequence.ts";
import { referenceId, spellReference, valueAt, type Reference } from "./reference.ts";
import { resolveReferences } from "./resolve-input.ts";
import { wholeResult } from "./whole-result.ts";
import type { SequenceCall, SequenceProblem } from "./sequence-problem.ts";

/** How the calls are checked and run. */
export interface RunSequenceOptions extends SequenceRules, Omit<RoundOptions, "rewriteInput"> {}

const { rewriteInput: _rewriteInput, ...OF_ROUNDS } = ROUND_OPTIONS;
const OPTIONS: OptionNames<RunSequenceOptions> = { ...OF_ROUNDS, ...RULE_NAMES };

/** The result of a sequence; one that is not sound has run nothing. */
export type SequenceRun =
  | {
      readonly valid: true;
      /** One for each call, in call order. */
      readonly results: readonly ToolResult[];
      /** The calls that ran side by side, by their places in the sequence. */
      readonly layers: SequenceLayers;
    }
  | { readonly valid: false; readonly results: readonly []; readonly problems: readonly SequenceProblem[] };

/**
 * Runs a sequence of calls in one turn of a session, layer by layer; of a runtime, in a session that is begun for it and closed.
 *
 * The sequence is checked first (see `checkSequence`), with the tools of the runtime: nothing runs of one that is not sound. A text
 * that is a reference is replaced by the value, its JSON type kept, before the input is repaired, validated and run; the log has the call
 * as it came, and each layer as one message. A call whose reference has no value, because the call it names has failed or has answered
 * nothing there, ends `invalid_input` and is not run; calls that do not depend on it continue. Of an output that was cut for the model,
 * references see the whole.
 *
 * @throws ToolError `invalid_argument` for options that cannot be and a closed session, also one that is closed meanwhile: its log has
 * what became of the calls that had begun; `cancelled` when the signal aborts before the turn begins; `store_failed`. All by rejecting
 */
export async function runSequence(
  target: RuntimeSession | Runtime,
  calls: readonly unknown[],
  options: RunSequenceOptions = {},
): Promise<SequenceRun> {
  checkKnownKeys(options, OPTIONS, "runSequence()");
  if (target instanceof RuntimeSession) return await runInSession(target, calls, options);
  if (!(target instanceof Runtime))
    throw new ToolError("invalid_argument", "A sequence runs in a runtime or in a session of one.", { operatorHint: ONE_COPY });
  const session = target.session();
  try {
    return await runInSession(session, calls, options);
  } finally {
    await session.close();
  }
}

async function runInSession(session: RuntimeSession, calls: readonly unknown[], options: RunSequenceOptions): Promise<SequenceRun> {
  const checked = readAndCheck(calls, { ...options, tools: session.registry });
  if (!checked.valid) return { valid: false, results: [], problems: checked.problems };
  const { signal } = options;
  const results = await session.turn(
    (turn) => new SequenceRunner({ session, turn }, checked, options).play(),
    signal === undefined ? {} : { signal },
  );
  return { valid: true, results, layers: checked.layers };
}

/** Without the rules of the sequence, which a round does not know. */
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
  /** By id, without its dollar, the call and what became of it. */
  readonly #answers = new Map<string, { readonly call: SequenceCall; readonly result: ToolResult }>();

  constructor({ session, turn }: Stage, sequence: CheckedSequence, options: RunSequenceOptions) {
    this.#session = session;
    this.#turn = turn;
    this.#sequence = sequence;
    this.#options = options;
    this.#roundOptions = roundOptionsOf(options);
  }

  async play(): Promise<readonly ToolResult[]> {
    for (const layer of this.#sequence.layers) await this.#playLayer(layer);
    return this.#results;
  }

  async #playLayer(layer: readonly number[]): Promise<void> {
    const calls = layer.flatMap((index) => this.#sequence.calls[index] ?? []);
    const round = this.#turn.round({ ...this.#roundOptions, rewriteInput: ({ input }) => this.#resolve(input) });
    for (const call of calls) round.add(call);
    const results = await round.end({ content: "", finish: "calls", usage: NO_USAGE });
    for (const [place, result] of results.entries()) {
      const call = calls[place];
      this.#results[layer[place] ?? 0] = result;
      if (call?.id !== undefined) this.#answers.set(referenceId(call.id, this.#options), { call, result });
    }
  }

  #resolve(input: unknown): JsonValue {
    const { reader } = this.#sequence;
    return resolveReferences(input as JsonValue, reader, (reference) => this.#valueOf(reference)); // frozen JSON: the check has copied it
  }

  /** @throws ToolError `invalid_input` where there is none */
  #valueOf(reference: Reference): JsonValue {
    const answer = this.#answers.get(reference.id);
    if (answer === undefined) throw noValue(reference, "the call it names has not run");
    const { call, result } = answer;
    if (!isAnswered(result)) throw noValue(reference, `${call.name} ended with ${result.error?.code ?? result.status}`);
    const output = outputOf(this.#whole(result, reference), reference);
    if (output === undefined) throw noValue(reference, `${call.name} has answered nothing`);
    return valueAt(output, reference);
  }

  /** The tool's whole answer, also where the model is shown less of it. */
  #whole(result: ToolResult, reference: Reference): WholeResult {
    const whole = wholeResult(this.#session, result);
    if (typeof whole === "string") throw noValue(reference, whole, "Raise its maxResultBytes; 0 = no limit.");
    return whole;
  }
}

/** It ran and has an output, also one that breaks its schema. */
function isAnswered({ status }: ToolResult): boolean {
  return status === "ok" || status === "partial";
}

/** The output of a tool; its text where it answered with content alone. A place is looked for in JSON that came as text as well. */
function outputOf({ output, content }: WholeResult, reference: Reference): JsonValue | undefined {
  const answered = output === undefined ? content?.map(partText).join("\n") : output;
  if (typeof answered !== "string" || reference.steps.length === 0) return answered;
  try {
    const parsed = parseJson(answered);
    return isJsonArray(parsed) || isJsonObject(parsed) ? parsed : answered;
  } catch {
    return answered; // a text like any other
  }
}

function noValue({ text }: Reference, why: string, hint = "Make that call again first, or give the value itself."): ToolError {
  return new ToolError("invalid_input", `The reference ${spellReference(text)} has no value: ${why}.`, { hint });
}
