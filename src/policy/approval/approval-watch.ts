/** While a question of this process is open, polls the store for answers from other processes and for previews they have requested. */
import { APPROVAL_STATUSES, type ApprovalEnd, type ApprovalStatus, type ApprovalStore } from "../../core/approval-store.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { Store } from "../../core/store.ts";
import { NOT_FOLLOWED, type StoreChange, type StoreFollower } from "../../core/store-changes.ts";
import { endOf, type PendingQuestion } from "./pending-question.ts";

/** How often the store is polled, in milliseconds. */
const LOOK_MS = 500;
/** Maximum number of questions looked up in one query. */
const IDS_AT_ONCE = 500;
const ENDED: readonly ApprovalStatus[] = Object.freeze(APPROVAL_STATUSES.filter((status) => status !== "open"));

export interface ApprovalWatchOptions {
  readonly store: ApprovalStore;
  readonly follow: Store["follow"];
  readonly ports: Pick<Ports, "clock" | "log">;
  /** The open questions of this process, by id. */
  readonly open: ReadonlyMap<string, PendingQuestion>;
  readonly onEnd: (end: ApprovalEnd) => void;
}

export class ApprovalWatch {
  readonly #options: ApprovalWatchOptions;
  #stop: (() => void) | undefined;
  #follower: StoreFollower = NOT_FOLLOWED;
  #looking = false;
  /** A hint arrived since the last look began. */
  #isBehind = false;
  #hasFailed = false;
  /** Previews may take seconds; answers do not wait for them. */
  #isPreviewing = false;

  constructor(options: ApprovalWatchOptions) {
    this.#options = options;
  }

  /** Starts polling, to be called when a question is open. */
  begin(): void {
    const { open, ports } = this.#options;
    if (open.size === 0 || this.#stop !== undefined || this.#looking) return;
    this.#stop = ports.clock.timer(() => void this.#look(), LOOK_MS, { background: true });
    if (this.#follower === NOT_FOLLOWED) this.#follower = this.#options.follow((change) => this.#hear(change));
  }

  #hear({ parts }: StoreChange): void {
    if (!parts.includes("approvals")) return;
    this.#isBehind = true;
    if (this.#stop === undefined) return; // it looks already, and looks again
    this.#stop();
    void this.#look();
  }

  async #look(): Promise<void> {
    this.#stop = undefined;
    if (this.#options.open.size === 0) return this.#rest();
    this.#looking = true;
    this.#isBehind = false;
    try {
      const damage = await this.#findEnds();
      if (!this.#isPreviewing) void this.#makePreviews();
      if (damage !== undefined) throw new ToolError("corrupt_record", damage);
      this.#hasFailed = false;
    } catch (thrown: unknown) {
      this.#warn(thrown);
    } finally {
      this.#looking = false;
      if (this.#options.open.size === 0) this.#rest();
      else if (this.#isBehind) void this.#look();
      else this.begin();
    }
  }

  #rest(): void {
    this.#follower.stop();
    this.#follower = NOT_FOLLOWED;
  }

  /** Passes on answers of other processes. Resolves to the damage of the first unreadable answer; its question stays open. */
  async #findEnds(): Promise<string | undefined> {
    const { store, ports, open, onEnd } = this.#options;
    const ids = [...open.keys()];
    const now = ports.clock.wallTime();
    let damage: string | undefined;
    while (ids.length > 0) {
      const query = { now, ids: ids.splice(0, IDS_AT_ONCE), statuses: ENDED, first: "oldest", limit: IDS_AT_ONCE } as const;
      for (const record of await store.list(query)) {
        if (record.damage === undefined || record.status !== "allowed") onEnd(endOf(record));
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
        if (pending !== undefined) await this.#makePreview(id, pending).catch((thrown: unknown) => this.#noPreview(thrown));
      }
    } catch (thrown: unknown) {
      this.#noPreview(thrown);
    } finally {
      this.#isPreviewing = false;
    }
  }

  async #makePreview(id: string, { request, asked: { digest } }: PendingQuestion): Promise<void> {
    const preview = (await request.preview?.()) ?? { available: false, reason: "the call has no session that could be branched" };
    // a preview is plain JSON, but its type is not assignable to JsonObject
    await this.#options.store.keepPreview({ id, digest, preview: preview as unknown as JsonObject });
  }

  #noPreview(thrown: unknown): void {
    this.#options.ports.log.debug(`A preview of a call that waits for approval could not be made: ${describeThrown(thrown)}`);
  }

  /** Logs a warning once per series of failures. */
  #warn(thrown: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.ports.log.warn(`It is not known whether an approval was answered elsewhere: ${describeThrown(thrown)}`);
  }
}
