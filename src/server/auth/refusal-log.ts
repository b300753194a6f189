/** Records refused requests in the store, at a limited rate. While the store cannot be written, they wait in memory. */
import type { AccessStore, RefusedRequest } from "../../core/store/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { describeThrown } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { throttledLog } from "../../core/system/throttled-log.ts";
import type { RequestHead } from "../http/request-head.ts";

/** A refused request. */
export interface Refusal {
  readonly request: RequestHead;
  readonly status: number;
  readonly reason: string;
  /** The id of the principal, if there is one. */
  readonly principal?: string | undefined;
  /** The address of the client. */
  readonly from?: string | undefined;
  /** The tools that the request was to call, if known. */
  readonly toolNames?: readonly string[] | undefined;
}

/** Maximum number of refusals kept per second; further ones are only counted. */
const MAX_PER_SECOND = 50;
/** Maximum number of refusals waiting to be written; further ones are only counted. */
const MAX_PENDING = 1_000;
/** The wait after a failed write, in milliseconds. */
const RETRY_MS = 1_000;
const MAX_PATH = 256;
const MAX_NAMES = 20;
const MAX_NAME = 256;

export class RefusalLog {
  readonly #access: AccessStore;
  readonly #ports: { readonly clock: Clock; readonly log: Log };
  #pending: readonly RefusedRequest[] = [];
  #writing: Promise<void> | undefined;
  #cancelRetry: (() => void) | undefined;
  #missed = 0;
  #secondStartedAt = -Infinity;
  #countInSecond = 0;

  constructor(access: AccessStore, ports: { readonly clock: Clock; readonly log: Log }) {
    this.#access = access;
    this.#ports = { clock: ports.clock, log: throttledLog(ports.log, ports.clock) };
  }

  /** Records a refusal synchronously, so that the response is not delayed. Keeps path and method, but neither query nor headers. */
  record({ request, status, reason, principal, from, toolNames: named }: Refusal): void {
    const { clock } = this.#ports;
    const now = clock.now();
    if (now - this.#secondStartedAt >= 1_000) {
      this.#secondStartedAt = now;
      this.#countInSecond = 0;
    }
    if (this.#countInSecond++ >= MAX_PER_SECOND || this.#pending.length >= MAX_PENDING) {
      this.#missed++;
      return;
    }
    const missed = this.#missed === 0 ? undefined : this.#missed;
    this.#missed = 0;
    const toolNames = named === undefined ? undefined : [...new Set(named.map((name) => name.slice(0, MAX_NAME)))].slice(0, MAX_NAMES);
    const path = new URL(request.url).pathname.slice(0, MAX_PATH);
    const refused: RefusedRequest = {
      at: clock.wallTime(),
      status,
      reason,
      method: request.method,
      path,
      ...omitUndefined({ principal, from, toolNames, missed }),
    };
    this.#pending = [...this.#pending, refused];
    if (this.#cancelRetry === undefined) void this.#write();
  }

  /** Resolves when all refusals are in the store, or cannot be written now; then they are not tried again before the next refusal. */
  async settled(): Promise<void> {
    await this.#writing;
    await this.#write();
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }

  #write(): Promise<void> {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    return (this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      if (this.#pending.length > 0 && this.#cancelRetry === undefined) void this.#write(); // recorded when all others had been written
    }));
  }

  /** Writes the waiting refusals. Those that cannot be written are kept for the next write. */
  async #writeAll(): Promise<void> {
    const { clock, log } = this.#ports;
    try {
      while (this.#pending.length > 0) {
        const next = this.#pending;
        await this.#access.addRefusals(next);
        this.#pending = this.#pending.slice(next.length);
      }
    } catch (thrown: unknown) {
      log.warn(`Refused requests could not be written; this is tried again later: ${describeThrown(thrown)}`);
      this.#cancelRetry = clock.timer(() => void this.#write(), RETRY_MS, { background: true });
    }
  }
}
