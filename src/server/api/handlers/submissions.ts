/** Batches of calls that requests began, and their results for requests that did not wait for them. */
import type { Clock, Ids } from "../../../core/ports.ts";
import type { TextResponse } from "../../http/text-response.ts";
import { WorkInProgress } from "../work-in-progress.ts";

/** The outcome of a batch: its response, or the error of a batch that failed as a whole. */
type Outcome = { readonly answer: TextResponse } | { readonly thrown: unknown };

interface Submission {
  readonly principalId: string;
  /** Never rejects. */
  readonly ended: Promise<Outcome>;
  outcome: Outcome | undefined;
}

/** How long results are kept after the end of their batch, in milliseconds. */
const RETENTION_MS = 600_000;
/** Total size of kept results; beyond it, the oldest are dropped early. */
const MAX_RETAINED_BYTES = 64 * 1024 * 1024;

/** A batch to begin. */
interface NewBatch {
  /** How long to wait for its end, in milliseconds. */
  readonly waitMs: number;
  readonly work: () => Promise<TextResponse>;
  /**
   * Awaited before the id of a batch that has not ended is returned. If it rejects, no id is returned.
   *
   * @param ended aborts when the batch ends, which is then no longer awaited
   */
  readonly beforeId?: (ended: AbortSignal) => Promise<void>;
}

/** A batch as its request sees it: ended, or with an id to ask for it later. */
export type BatchState = { readonly outcome: Outcome } | { readonly submissionId: string };

export class Submissions {
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #byId = new Map<string, Submission>();
  #retainedBytes = 0;
  readonly #running = new WorkInProgress();

  constructor({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }) {
    this.#clock = clock;
    this.#ids = ids;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Begins a batch, and waits for it for `waitMs`. @throws as `beforeId`, as a rejection */
  async run(principalId: string, { waitMs, work, beforeId }: NewBatch): Promise<BatchState> {
    const ended = work().then(
      (answer): Outcome => (submission.outcome = { answer }),
      (thrown: unknown): Outcome => (submission.outcome = { thrown }),
    );
    const submission: Submission = { principalId, ended: this.#running.track(ended), outcome: undefined };
    let outcome = await this.#wait(submission, waitMs, undefined);
    if (outcome === undefined && beforeId !== undefined) {
      const controller = new AbortController();
      void ended.then(() => controller.abort());
      await beforeId(controller.signal);
      ({ outcome } = submission);
    }
    if (outcome !== undefined) return { outcome };
    const submissionId = this.#ids.next("submission");
    this.#byId.set(submissionId, submission);
    void ended.then((late) => this.#retain(submissionId, submission, bytesOf(late)));
    return { submissionId };
  }

  /** Keeps a result. If the total is too large, older results of the same principal are dropped before those of others. */
  #retain(submissionId: string, submission: Submission, bytes: number): void {
    this.#clock.timer(() => this.#drop(submissionId), RETENTION_MS, { background: true });
    this.#retainedBytes += bytes;
    if (this.#retainedBytes <= MAX_RETAINED_BYTES) return;
    const others = [...this.#byId].filter(([, one]) => one !== submission && one.outcome !== undefined);
    const isOwn = ([, { principalId }]: (typeof others)[number]): boolean => principalId === submission.principalId;
    for (const [id] of [...others.filter(isOwn), ...others.filter((one) => !isOwn(one))]) {
      if (this.#retainedBytes <= MAX_RETAINED_BYTES) return;
      this.#drop(id);
    }
  }

  #drop(submissionId: string): void {
    const outcome = this.#byId.get(submissionId)?.outcome;
    if (outcome === undefined) return;
    this.#byId.delete(submissionId);
    this.#retainedBytes -= bytesOf(outcome);
  }

  /** Resolves when no batch runs. */
  whenIdle(): Promise<void> {
    return this.#running.whenIdle();
  }

  /** Waits for a batch. undefined if there is none with this id and principal. */
  async wait(
    submissionId: string,
    { principalId, waitMs, signal }: { readonly principalId: string; readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<BatchState | undefined> {
    const submission = this.#byId.get(submissionId);
    if (submission === undefined || submission.principalId !== principalId) return undefined;
    const outcome = await this.#wait(submission, waitMs, signal);
    return outcome === undefined ? { submissionId } : { outcome };
  }

  /** Resolves to undefined if the time is over, or the signal aborts, before the batch has ended. */
  #wait(submission: Submission, waitMs: number, signal: AbortSignal | undefined): Promise<Outcome | undefined> {
    if (submission.outcome !== undefined) return Promise.resolve(submission.outcome);
    return new Promise((resolve) => {
      const stop = (): void => end(undefined);
      const cancel = this.#clock.timer(stop, waitMs, { background: true });
      const end = (outcome: Outcome | undefined): void => {
        cancel();
        signal?.removeEventListener("abort", stop);
        resolve(outcome);
      };
      signal?.addEventListener("abort", stop, { once: true });
      void submission.ended.then(end);
    });
  }
}

function bytesOf(outcome: Outcome): number {
  return "answer" in outcome ? outcome.answer.bytes : 0;
}
