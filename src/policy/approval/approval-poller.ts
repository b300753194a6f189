/** While a question of this process is open, polls the store for answers from other processes and for previews they have requested. */
import { APPROVAL_STATUSES, type ApprovalEnd, type ApprovalStatus, type ApprovalStore } from "../../core/store/approval-store.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { Store } from "../../core/store/store.ts";
import { NO_FOLLOWER, type StoreChange, type StoreFollower } from "../../core/store/store-changes.ts";
import { toApprovalEnd, type PendingQuestion } from "./pending-question.ts";

/** How often the store is polled, in milliseconds. */
const POLL_MS = 500;
/** Maximum number of questions looked up in one query. */
const MAX_IDS_PER_QUERY = 500;
const ENDED_STATUSES: readonly ApprovalStatus[] = Object.freeze(APPROVAL_STATUSES.filter((status) => status !== "open"));

export interface ApprovalPollerOptions {
  readonly store: ApprovalStore;
  readonly follow: Store["follow"];
  readonly ports: Pick<Ports, "clock" | "log">;
  /** The open questions of this process, by id. */
  readonly open: ReadonlyMap<string, PendingQuestion>;
  readonly onEnd: (end: ApprovalEnd) => void;
}

export class ApprovalPoller {
  readonly #options: ApprovalPollerOptions;
  #cancelPoll: (() => void) | undefined;
  #follower: StoreFollower = NO_FOLLOWER;
  #isPolling = false;
  /** A hint arrived since the last poll began. */
  #mustPollAgain = false;
  #hasFailed = false;
  /** Previews may take seconds; answers do not wait for them. */
  #isPreviewing = false;

  constructor(options: ApprovalPollerOptions) {
    this.#options = options;
  }

  /** Starts polling, to be called when a question is open. */
  start(): void {
    const { open, ports } = this.#options;
    if (open.size === 0 || this.#cancelPoll !== undefined || this.#isPolling) return;
    this.#cancelPoll = ports.clock.timer(() => void this.#poll(), POLL_MS, { background: true });
    if (this.#follower === NO_FOLLOWER) this.#follower = this.#options.follow((change) => this.#onChange(change));
  }

  #onChange({ parts }: StoreChange): void {
    if (!parts.includes("approvals")) return;
    this.#mustPollAgain = true;
    if (this.#cancelPoll === undefined) return; // it polls already, and polls again
    this.#cancelPoll();
    void this.#poll();
  }

  async #poll(): Promise<void> {
    this.#cancelPoll = undefined;
    if (this.#options.open.size === 0) return this.#stopFollowing();
    this.#isPolling = true;
    this.#mustPollAgain = false;
    try {
      const damage = await this.#reportAnswers();
      if (!this.#isPreviewing) void this.#makePreviews();
      if (damage !== undefined) throw new ToolError("corrupt_record", damage);
      this.#hasFailed = false;
    } catch (thrown: unknown) {
      this.#warn(thrown);
    } finally {
      this.#isPolling = false;
      if (this.#options.open.size === 0) this.#stopFollowing();
      else if (this.#mustPollAgain) void this.#poll();
      else this.start();
    }
  }

  #stopFollowing(): void {
    this.#follower.stop();
    this.#follower = NO_FOLLOWER;
  }

  /** Passes on answers of other processes. Resolves to the damage of the first unreadable answer; its question stays open. */
  async #reportAnswers(): Promise<string | undefined> {
    const { store, ports, open, onEnd } = this.#options;
    const ids = [...open.keys()];
    const now = ports.clock.wallTime();
    let damage: string | undefined;
    while (ids.length > 0) {
      const query = {
        now,
        ids: ids.splice(0, MAX_IDS_PER_QUERY),
        statuses: ENDED_STATUSES,
        first: "oldest",
        limit: MAX_IDS_PER_QUERY,
      } as const;
      for (const record of await store.list(query)) {
        if (record.damage === undefined || record.status !== "allowed") onEnd(toApprovalEnd(record));
        else damage ??= record.damage;
      }
    }
    return damage;
  }

  /** Makes the previews that other processes requested. Never rejects: a process that gets no preview stops waiting after a while. */
  async #makePreviews(): Promise<void> {
    const { store, open } = this.#options;
    this.#isPreviewing = true;
    try {
      for (const id of await store.previewRequests()) {
        const pending = open.get(id);
        // the other previews are still made
        if (pending !== undefined) await this.#makePreview(id, pending).catch((thrown: unknown) => this.#logMissingPreview(thrown));
      }
    } catch (thrown: unknown) {
      this.#logMissingPreview(thrown);
    } finally {
      this.#isPreviewing = false;
    }
  }

  async #makePreview(id: string, { request, asked: { digest } }: PendingQuestion): Promise<void> {
    const preview = (await request.preview?.()) ?? { available: false, reason: "the call has no session that could be branched" };
    // a preview is plain JSON, but its type is not assignable to JsonObject
    await this.#options.store.keepPreview({ id, digest, preview: preview as unknown as JsonObject });
  }

  #logMissingPreview(thrown: unknown): void {
    this.#options.ports.log.debug(`A preview of a call that waits for approval could not be made: ${describeThrown(thrown)}`);
  }

  /** Logs a warning once per series of failures. */
  #warn(thrown: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.ports.log.warn(`It is not known whether an approval was answered elsewhere: ${describeThrown(thrown)}`);
  }
}
