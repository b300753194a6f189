/** The questions of a session that is resumed. Those of its open calls stay open and can be answered, until the calls ask them again or end. */
import type { CallRun } from "../../call/call-run.ts";
import { describeThrown } from "../../core/error.ts";
import type { Approvals } from "../../core/approvals/approvals.ts";
import type { OpenCall } from "./open-call.ts";
import type { RuntimeSession } from "../runtime-session.ts";

export class ResumedQuestions {
  readonly #session: RuntimeSession;
  readonly #approvals: Approvals;
  /** The ids of open calls. Jobs and their nested calls may ask again much later. */
  readonly #open: Set<string>;
  /** The ids of those that waited for the answer to a question. */
  readonly #asked: ReadonlySet<string>;
  /** The ids of calls that have ended since, until their questions are withdrawn. */
  #ended: string[] = [];
  #isResumed = false;

  /** @param open the calls that had not ended */
  constructor(session: RuntimeSession, open: readonly OpenCall[], approvals: Approvals) {
    this.#session = session;
    this.#approvals = approvals;
    this.#open = new Set(open.map(({ callId }) => callId));
    this.#asked = new Set(open.filter(({ askedAt }) => askedAt !== undefined).map(({ callId }) => callId));
  }

  /** Withdraws the questions that no call will ask again. Those of a job that ends later are withdrawn at its end. */
  async withdrawStale(): Promise<void> {
    this.#isResumed = true;
    await this.#approvals.withdrawAbandoned(this.#session.id, this.#open.size === 0 ? {} : { exceptCallIds: [...this.#open] });
  }

  /** Call this for each call that had not ended, when it has its result. */
  onCallEnd({ callId, job }: CallRun): void {
    // if the session is lost, the process that resumes it next has the questions
    if (!this.#open.delete(callId) || this.#session.broken !== undefined) return;
    if (this.#isResumed) this.#ended.push(callId);
    else if (this.#asked.has(callId)) this.#withdraw([callId]); // other calls may keep the resume waiting, and an answer would have no effect
    if (!this.#isResumed || job === undefined) return;
    const callIds = this.#ended;
    this.#ended = [];
    this.#withdraw(callIds);
  }

  #withdraw(callIds: readonly string[]): void {
    const { id, ports } = this.#session;
    this.#approvals.withdrawAbandoned(id, { callIds }).catch((thrown: unknown) => {
      ports.log.warn(`Questions of calls that have ended were not withdrawn: ${describeThrown(thrown)}`, { callIds: callIds.join(", ") });
    });
  }
}
