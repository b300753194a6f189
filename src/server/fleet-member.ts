/** A server as one of the processes of its store: announces itself, and warns if other processes differ. */
import { hostname } from "node:os";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { describeThrown } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Clock, Log } from "../core/ports.ts";
import type { ProcessDescription } from "../core/store/process-store.ts";
import { getDefinitionDigests } from "../registry/definition-digests.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { describeFleetDifferences } from "./fleet-differences.ts";

/** The part of the description of a process that its program gives; the server knows the rest. */
export type ServerProcess = Pick<ProcessDescription, "role" | "name" | "definitions">;

export interface FleetMemberOptions {
  readonly runtime: Runtime;
  readonly own: ServerProcess;
  readonly version: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long to wait before announcing a change of toolsets, in milliseconds: several toolsets often change in a row. */
const ANNOUNCE_DELAY_MS = 1_000;

export class FleetMember {
  readonly #options: FleetMemberOptions;
  #name: string;
  #isAnnounced = false;
  #cancel: (() => void) | undefined;

  /** @throws ToolError `invalid_argument` for an invalid description */
  constructor(options: FleetMemberOptions) {
    checkKnownKeys(options.own, { role: "string", name: "string", definitions: "object" }, "The option process of createServer()");
    this.#options = options;
    this.#name = options.own.name ?? hostname();
  }

  /** The name of the process among those of its store. */
  get name(): string {
    return this.#name;
  }

  /** Announces this process to the others, and logs how they differ. @throws ToolError as the store, as a rejection */
  async announce({ port, address }: { readonly port: number; readonly address: string | undefined }): Promise<void> {
    const { runtime, own, version, log } = this.#options;
    this.#name = own.name ?? `${hostname()}:${port}`;
    const { store, places } = runtime;
    if (store === undefined) return;
    await store.announce({
      role: own.role ?? "serve",
      name: this.#name,
      places,
      definitions: this.#definitions(),
      ...omitUndefined({ version, address }),
    });
    this.#isAnnounced = true;
    for (const line of describeFleetDifferences(await store.processes())) log.warn(`The processes of the store differ. ${line}`);
  }

  /** Schedules an announcement after a toolset changed. */
  scheduleAnnouncement(): void {
    if (!this.#isAnnounced || this.#cancel !== undefined) return;
    this.#cancel = this.#options.clock.timer(() => void this.#announceChange(), ANNOUNCE_DELAY_MS, { background: true });
  }

  /** Withdraws the address of this process, which may live on. Never rejects. */
  async stop(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    if (!this.#isAnnounced) return;
    this.#isAnnounced = false;
    try {
      await this.#options.runtime.store?.announce({ address: "" });
    } catch (thrown: unknown) {
      this.#options.log.warn(`Other processes could not be notified that this server is closed: ${describeThrown(thrown)}`);
    }
  }

  async #announceChange(): Promise<void> {
    this.#cancel = undefined;
    const { runtime, log } = this.#options;
    try {
      await runtime.store?.announce({ definitions: this.#definitions() });
    } catch (thrown: unknown) {
      log.warn(`Other processes could not be notified that tools have changed: ${describeThrown(thrown)}`);
    }
  }

  #definitions(): Readonly<Record<string, string>> {
    const { runtime, own } = this.#options;
    return { ...getDefinitionDigests(runtime.registry), ...own.definitions };
  }
}
