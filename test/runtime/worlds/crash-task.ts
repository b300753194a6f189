/** Plays a recorded task, loses its runtime in the midst of a random call, and goes on with it in another one. */
import { isDeepStrictEqual } from "node:util";
import { describeThrown, isToolError } from "../../../src/core/error.ts";
import type { HistoryEntry } from "../../../src/core/history.ts";
import type { Random } from "../../../src/core/ports.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { beginTask, dataOf, hashOf, inBatches, pick, play } from "./play-task.ts";
import type { RecordedCall, RecordedTask, RecordedWorld } from "./recorded-worlds.ts";
import { misanswer, type Score } from "./score.ts";
import type { TraceProbe, TraceStep } from "./trace-tools.ts";

type Moment = keyof TraceProbe;

interface Held {
  readonly moment: Moment;
  readonly reached: PromiseWithResolvers<void>;
  readonly released: PromiseWithResolvers<void>;
}

/** Keeps handlers of the runtime that is going to be lost where they are, before or after they change the state. */
export class Holder implements TraceProbe {
  readonly #held = new Map<RecordedCall, Held>();

  hold(call: RecordedCall, moment: Moment): Held {
    const held = { moment, reached: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() };
    this.#held.set(call, held);
    return held;
  }

  before = (step: TraceStep): Promise<void> => this.#pass(step, "before");
  after = (step: TraceStep): Promise<void> => this.#pass(step, "after");

  async #pass({ call }: TraceStep, moment: Moment): Promise<void> {
    const held = this.#held.get(call);
    if (held?.moment !== moment) return;
    held.reached.resolve();
    await held.released.promise;
  }
}

/** Notes every start of a handler: one that writes is started once for a call, whatever is lost. */
export class Starts {
  readonly #starts = new Map<string, { readonly name: string; readonly keys: string[] }>();
  readonly #readers: ReadonlySet<string>;

  constructor(worlds: readonly RecordedWorld[]) {
    const tools = worlds.flatMap((world) =>
      [...world.toolsets].flatMap(([toolset, members]) => members.map((tool) => ({ toolset, tool }))),
    );
    this.#readers = new Set(tools.flatMap(({ toolset, tool }) => (tool.readsOnly ? [`${toolset}::${tool.name}`] : [])));
  }

  note(callId: string, name: string, idempotencyKey = ""): void {
    const start = this.#starts.get(callId) ?? { name, keys: [] };
    this.#starts.set(callId, start);
    start.keys.push(idempotencyKey);
  }

  isReader(call: RecordedCall): boolean {
    return this.#readers.has(`${call.toolset}::${call.name}`);
  }

  /** Calls that were started again although they write, or under another key than the first time. */
  get wrong(): readonly string[] {
    return [...this.#starts].flatMap(([callId, { name, keys }]) => {
      if (new Set(keys).size > 1) return [`${name} (${callId}) was started under several keys`];
      return keys.length > 1 && !this.#readers.has(name) ? [`${name} (${callId}) was started ${keys.length} times`] : [];
    });
  }

  /** How many calls were started again. */
  get repeated(): number {
    return [...this.#starts.values()].filter(({ keys }) => keys.length > 1).length;
  }
}

export interface CrashScene {
  readonly first: Runtime;
  readonly second: Runtime;
  readonly holder: Holder;
  readonly starts: Starts;
  readonly random: Random;
  readonly score: Score;
}

/** The batch that is under way when the runtime is lost. */
interface Interrupted {
  readonly batch: readonly RecordedCall[];
  readonly call: RecordedCall;
  readonly submission: Submission;
  /** The state before the batch, and how many calls were made before it. */
  readonly hash: string;
  readonly made: number;
  /** What becomes of it in the runtime that was lost: the code of the error it rejects with. */
  readonly ended: Promise<string>;
  readonly release: () => void;
}

type Submission = { readonly idempotencyKey?: string };

/** Ends a task in the second runtime that began in the first. What is wrong goes to the score. */
export async function crashAndResume(scene: CrashScene, task: RecordedTask): Promise<void> {
  const { first, second, random, score } = scene;
  const session = first.session(task.id);
  await beginTask(session, task);
  const batches = inBatches(task.calls, random);
  const crashAt = Math.floor(random.next() * batches.length);
  const hasKeys = random.next() < 0.5;
  const submissionOf = (index: number): Submission => (hasKeys ? { idempotencyKey: `batch ${index}` } : {});
  const acknowledged: (readonly ToolResult[])[] = [];
  for (const [index, batch] of batches.slice(0, crashAt).entries()) {
    const results = await play(session, task, batch, submissionOf(index));
    score.holdResults(task, batch, results);
    acknowledged.push(results);
  }
  const interrupted = await interrupt(scene, { session, task, batch: batches[crashAt], submission: submissionOf(crashAt) });
  const resumed = await second.resume(task.id, { takeOver: true, ...dataOf(task) });
  if (random.next() < 0.5) interrupted?.release(); // the lost runtime goes on beside this one, or when all is over
  holdAcknowledged(score, task, resumed, acknowledged.flat());
  if (hasKeys) await submitAgain(score, { resumed, task, batches, acknowledged });
  if (interrupted !== undefined) await redo(scene, task, resumed, interrupted);
  for (const batch of batches.slice(crashAt + 1)) score.holdResults(task, batch, await play(resumed, task, batch));
  score.holdEnd(task, resumed);
  interrupted?.release();
  const ended = interrupted === undefined ? await playLate(session, task) : await interrupted.ended;
  score.hold(ended === "conflict", `${task.id}: the runtime that was lost ended with ${ended}`);
  score.holdEnd({ ...task, id: `${task.id} after the lost runtime went on` }, resumed);
  holdAcknowledged(score, task, resumed, acknowledged.flat());
  await resumed.close();
}

/** The same batches under the same keys come to the results they came to, and to nothing else. */
async function submitAgain(
  score: Score,
  played: {
    readonly resumed: RuntimeSession;
    readonly task: RecordedTask;
    readonly batches: readonly (readonly RecordedCall[])[];
    readonly acknowledged: readonly (readonly ToolResult[])[];
  },
): Promise<void> {
  const { resumed, task, batches, acknowledged } = played;
  const { length } = resumed;
  for (const [index, results] of acknowledged.entries()) {
    const again = await play(resumed, task, batches[index] ?? [], { idempotencyKey: `batch ${index}` });
    score.add("batches submitted again");
    score.hold(isDeepStrictEqual(again, results), `${task.id}: batch ${index}, submitted again, has other results`);
  }
  score.hold(resumed.length === length, `${task.id}: what was submitted again was recorded again`);
}

/** Begins a batch and waits until one of its calls is held; undefined for a task without calls. */
async function interrupt(
  { holder, random, score }: CrashScene,
  under: {
    readonly session: RuntimeSession;
    readonly task: RecordedTask;
    readonly batch: readonly RecordedCall[] | undefined;
    readonly submission: Submission;
  },
): Promise<Interrupted | undefined> {
  const { session, task, batch, submission } = under;
  if (batch === undefined) return undefined;
  const call = pick(random, batch);
  const moment = pick(random, ["before", "after"] as const);
  const held = holder.hold(call, moment);
  const [hash, made] = [hashOf(session, task), session.history.length];
  const ended = play(session, task, batch, submission).then(() => "results", codeOf);
  const early = ended.then((end) => Promise.reject(new Error(`${task.id}: the batch ended before it was interrupted: ${end}`)));
  await Promise.race([held.reached.promise, early]);
  score.add(`crashes ${moment} a change`);
  return { batch, call, submission, hash, made, ended, release: held.released.resolve };
}

function codeOf(thrown: unknown): string {
  return isToolError(thrown) ? thrown.code : describeThrown(thrown);
}

/** A call of a runtime that does not know yet that its session is another's. */
function playLate(session: RuntimeSession, task: RecordedTask): Promise<string> {
  return beginTask(session, task).then(() => "results", codeOf);
}

/** Looks at what became of the calls that were under way, as a caller would, and makes those again that came to nothing. */
async function redo({ score, starts }: CrashScene, task: RecordedTask, resumed: RuntimeSession, interrupted: Interrupted): Promise<void> {
  const { batch, call, submission } = interrupted;
  const entries = resumed.history.slice(interrupted.made);
  if (entries.length === 0) {
    // The store had not heard of them yet: they only read, so nothing but their answers is lost.
    score.add("unknown reads");
    score.hold(starts.isReader(call), `${task.id}: ${call.name} was started, and the store has not heard of it`);
    score.holdResults(task, batch, await play(resumed, task, batch, submission));
    return;
  }
  const results = entries.flatMap(({ result }) => result ?? []);
  if (submission.idempotencyKey !== undefined)
    score.hold(isDeepStrictEqual(await play(resumed, task, batch, submission), results), `${task.id}: the key has other results`);
  const lost = batch.filter((made, index) => misanswer(made, results[index]) !== undefined);
  score.add("calls", batch.length - lost.length);
  score.add("recorded errors", batch.filter((made) => made.error !== undefined && !lost.includes(made)).length);
  score.add(starts.isReader(call) ? "interrupted reads" : "interrupted writes");
  score.hold(starts.isReader(call) || lost.includes(call), `${task.id}: the interrupted write ${call.name} has a result`);
  score.wrong.push(...wrongEnds(task, lost, (made) => ({ result: results[batch.indexOf(made)], isReader: starts.isReader(made) })));
  if (batch.every((made) => lost.includes(made)))
    score.hold(hashOf(resumed, task) === interrupted.hash, `${task.id}: what came to nothing changed the state`);
  if (lost.length > 0) score.holdResults(task, lost, await play(resumed, task, lost));
}

interface End {
  readonly result: ToolResult | undefined;
  readonly isReader: boolean;
}

/** Of each toolset, the first call that came to nothing is a write of which nobody knows; what comes after it cannot have gone as recorded. */
function wrongEnds(task: RecordedTask, lost: readonly RecordedCall[], endOf: (call: RecordedCall) => End): readonly string[] {
  const firsts = [...task.start.keys()].flatMap((toolset) => lost.find((call) => call.toolset === toolset) ?? []);
  return firsts.flatMap((call) => {
    const { result, isReader } = endOf(call);
    const isRight = !isReader && result?.error?.code === "outcome_unknown";
    return isRight ? [] : [`${task.id}: ${call.name} ended with ${result?.error?.code} ${result?.error?.message}`];
  });
}

/** Every result that the first runtime gave is in the second one's history as it was, once, and every call has one result. */
function holdAcknowledged(score: Score, task: RecordedTask, resumed: RuntimeSession, acknowledged: readonly ToolResult[]): void {
  const { history } = resumed;
  const ends = Map.groupBy(
    resumed.log.flatMap((event) => (event.type === "call-end" ? [event.callId] : [])),
    (callId) => callId,
  );
  const isKept = (result: ToolResult): boolean => isDeepStrictEqual(find(history, result.callId)?.result, result);
  score.hold(acknowledged.every(isKept), `${task.id}: a result that was given is not there, or another`);
  score.hold(
    history.every((entry) => entry.result !== undefined && ends.get(entry.callId)?.length === 1),
    `${task.id}: a call has not one result`,
  );
}

function find(history: readonly HistoryEntry[], callId: string): HistoryEntry | undefined {
  return history.find((entry) => entry.callId === callId);
}
