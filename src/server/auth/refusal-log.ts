/** Records refused requests in the store, at a limited rate. */
import type { AccessStore, RefusedRequest } from "../../core/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { describeThrown } from "../../core/error.ts";
import type { Clock, Log } from "../../core/ports.ts";
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
const MAX_PATH = 256;
const MAX_NAMES = 20;
const MAX_NAME = 256;

export class RefusalLog {
  readonly #access: AccessStore;
  readonly #ports: { readonly clock: Clock; readonly log: Log };
  #pending: RefusedRequest[] = [];
  #writing: Promise<void> | undefined;
  #missed = 0;
  #secondStartedAt = -Infinity;
  #countInSecond = 0;

  constructor(access: AccessStore, ports: { readonly clock: Clock; readonly log: Log }) {
    this.#access = access;
    this.#ports = ports;
  }

  /** Records a refusal synchronously, so that the response is not delayed. Keeps path and method, but neither query nor headers. */
  record({ request, status, reason, principal, from, toolNames: named }: Refusal): void {
    const { clock } = this.#ports;
    const now = clock.now();
    if (now - this.#secondStartedAt >= 1_000) {
      this.#secondStartedAt = now;
      this.#countInSecond = 0;
    }
    if (this.#countInSecond++ >= MAX_PER_SECOND) {
      this.#missed++;
      return;
    }
    const missed = this.#missed === 0 ? undefined : this.#missed;
    this.#missed = 0;
    const toolNames = named === undefined ? undefined : [...new Set(named.map((name) => name.slice(0, MAX_NAME)))].slice(0, MAX_NAMES);
    const path = new URL(request.url).pathname.slice(0, MAX_PATH);
    this.#pending.push({
      at: clock.wallTime(),
      status,
      reason,
      method: request.method,
      path,
      ...omitUndefined({ principal, from, toolNames, missed }),
    });
    this.#writing ??= this.#write();
  }

  /** Resolves when all refusals are in the store. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    try {
      while (this.#pending.length > 0) {
        const next = this.#pending;
        this.#pending = [];
        await this.#access.addRefusals(next);
      }
    } catch (thrown: unknown) {
      this.#ports.log.warn(`Refused requests could not be kept: ${describeThrown(thrown)}`);
    } finally {
      this.#writing = undefined;
    }
  }
}
