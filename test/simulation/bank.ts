/** The outside world that tools change: accounts and documents, and who changed them how often. */
import type { Sabotage } from "./sabotage.ts";

/** One effect that was asked for, under the key that the runtime gave for it. */
interface Effect {
  readonly tool: string;
  commits: number;
  /** Of the document or account, as the first commit left it. */
  version: number;
  /** Set once somebody was told that it never happened: only that process may still do it. */
  readonly only: number | undefined;
}

export interface Request {
  readonly resource: string;
  readonly tool: string;
  readonly key: string;
  /** Of the process that asks. */
  readonly process: number;
}

export class Bank {
  readonly effects = new Map<string, Effect>();
  readonly #versions = new Map<string, number>();
  readonly #sabotage: Sabotage | undefined;
  #commits = 0;

  constructor(sabotage: Sabotage | undefined) {
    this.#sabotage = sabotage;
  }

  version(resource: string): number {
    return this.#versions.get(resource) ?? 0;
  }

  /** How many effects there were in all. */
  get commits(): number {
    return this.#commits;
  }

  /** @returns the version it left; undefined when the request was given up */
  commit({ resource, tool, key, process }: Request): number | undefined {
    const before = this.effects.get(key);
    if (before?.only !== undefined && before.only !== process) return undefined;
    const times = this.#sabotage === "commit twice" && tool === "pay" && this.#commits % 7 === 0 ? 2 : 1;
    const version = this.version(resource) + 1;
    this.#versions.set(resource, version);
    this.#commits++;
    this.effects.set(key, { tool, commits: (before?.commits ?? 0) + times, version, only: before?.only });
    return version;
  }

  /** As `commit`, for a service that knows a request that comes again. */
  commitOnce(request: Request): number | undefined {
    const before = this.effects.get(request.key);
    return before !== undefined && before.commits > 0 ? before.version : this.commit(request);
  }

  /** What became of a request; one that never came is taken from nobody but the process that asks here. */
  reconcile({ tool, key, process }: Omit<Request, "resource">): number | undefined {
    const known = this.effects.get(key);
    if (known !== undefined && known.commits > 0) return known.version;
    this.effects.set(key, { tool, commits: 0, version: 0, only: process });
    return undefined;
  }
}
