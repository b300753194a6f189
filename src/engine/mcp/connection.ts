/** One connection to a running server: requests of either era, and the calls in flight on it. */
import type { Client } from "@modelcontextprotocol/client";
import type { ProgressUpdate } from "../../core/context.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import type { Callers } from "./callers.ts";
import { findRefusal, findHttpStatus } from "./call-error.ts";
import { RpcFailure, ServerFault, SessionLost } from "./failure.ts";
import type { PeerIdentity } from "./peer.ts";
import type { Relay } from "./relay.ts";
import type { Wire } from "./wire.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

export interface RequestOptions {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onProgress?: (update: ProgressUpdate) => void;
}

export interface ConnectionDependencies {
  readonly client: Client;
  readonly relay: Relay;
  readonly wire: Wire;
  readonly sdk: ClientModule;
  readonly callers: Callers;
}

/** How often one request is sent again after a login. */
const MAX_LOGINS = 2;
const RESULT_TYPES: ReadonlySet<unknown> = new Set([undefined, "complete", "input_required", "task"]);

export class McpConnection {
  readonly era: "legacy" | "modern";
  readonly identity: PeerIdentity;
  readonly wire: Wire;
  /** The calls in flight, for a question that names none. */
  readonly callers: Callers;
  readonly #client: Client;
  readonly #relay: Relay;
  readonly #sdk: ClientModule;
  #login: Login | undefined;

  /** Requires a client that has connected. */
  constructor({ client, relay, wire, sdk, callers }: ConnectionDependencies) {
    this.#client = client;
    this.#relay = relay;
    this.#sdk = sdk;
    this.wire = wire;
    this.callers = callers;
    this.era = client.getProtocolEra() ?? "legacy";
    this.identity = identityOf(client);
  }

  /** Why the connection can no longer be used, as the end of a sentence; undefined while it can. */
  get endReason(): string | undefined {
    return this.wire.endReason;
  }

  hasCapability(capability: string): boolean {
    return isJsonObject(this.identity.capabilities[capability]);
  }

  /** Facts about the server for the metadata of its tools. */
  get origin(): JsonObject {
    const { name, version } = this.identity.serverInfo ?? {};
    const { kind, url } = this.wire;
    return omitUndefined({ transport: kind, url, name, version, protocolVersion: this.identity.protocolVersion });
  }

  /**
   * Sends one request. If the server requires a login first, waits for it and sends the request again.
   *
   * @throws RpcFailure, ConnectionLost, SessionLost, or the transport's error, as a rejection
   */
  async request(method: string, params: JsonObject, options: RequestOptions): Promise<unknown> {
    for (let login = 1; ; login++) {
      try {
        return this.#checkResultType(method, await this.#relay.request({ method, params, ...options }));
      } catch (error: unknown) {
        if (login > MAX_LOGINS || !this.#wantsLogin(error)) throw this.#toRequestError(error);
        await this.#waitForLogin(options.signal);
      }
    }
  }

  /** Opens a stream of change notifications (modern era only). Resolves once the server has accepted it; `closed` resolves at its end. */
  async listen(filter: ListenFilter, signal: AbortSignal): Promise<{ readonly closed: Promise<string>; close(): Promise<void> }> {
    const { resourceSubscriptions, ...lists } = filter;
    const subscribed = resourceSubscriptions === undefined ? {} : { resourceSubscriptions: [...resourceSubscriptions] };
    return await this.#client.listen({ ...lists, ...subscribed }, { signal });
  }

  /** Sets a field of `_meta` in all further requests, in addition to those of the era; undefined removes it. */
  setMeta(key: string, value: JsonValue | undefined): void {
    const { [key]: _before, ...rest } = this.#relay.envelope ?? {};
    if (this.era === "modern") this.#relay.envelope = value === undefined ? rest : { ...rest, [key]: value };
  }

  async close(): Promise<void> {
    await this.wire.close();
  }

  /** Refuses a result of an unknown type, which must not be read as an answer (revision 2026-07-28). */
  #checkResultType(method: string, result: unknown): unknown {
    if (this.era === "legacy" || !isJsonObject(result) || RESULT_TYPES.has(result["resultType"])) return result;
    throw new ServerFault(
      "invalid_output",
      `it answered ${method} with a result of the unknown type ${JSON.stringify(result["resultType"])}`,
    );
  }

  #wantsLogin(error: unknown): boolean {
    return this.wire.authorize !== undefined && error instanceof this.#sdk.UnauthorizedError;
  }

  /** Waits for a login that several refused requests share. It is cancelled when none of them waits any more. */
  async #waitForLogin(signal: AbortSignal): Promise<void> {
    const login = (this.#login ??= this.#startLogin());
    login.waiting++;
    try {
      await rejectOnAbort(login.done, signal);
    } finally {
      if (--login.waiting === 0) login.controller.abort(signal.reason);
    }
  }

  #startLogin(): Login {
    const controller = new AbortController();
    const forget = (): void => {
      if (this.#login?.controller === controller) this.#login = undefined;
    };
    const done = (this.wire.authorize?.(controller.signal) ?? Promise.resolve()).finally(forget);
    controller.signal.addEventListener("abort", forget);
    return { controller, done, waiting: 0 };
  }

  /** Recognizes a lost session, which ends the connection for every request. */
  #toRequestError(error: unknown): unknown {
    if (!this.#isSessionLost(error)) return findRefusal(error) ?? error;
    this.wire.abandon("its session is over");
    return new SessionLost("its session is over", { cause: error });
  }

  #isSessionLost(error: unknown): boolean {
    if (!(error instanceof Error) || error instanceof RpcFailure) return false; // an answer to the request, whatever status it reports
    const status = findHttpStatus(error);
    // an answer with the id of a request is about the call, which may have begun
    const saysWhy = /session/iu.test(error.message) && !/"id"\s*:\s*[\d"]/u.test(error.message);
    // the older transport has its session in the address of messages; a 404 with other words, as of a proxy, is about one message
    if (this.wire.kind === "sse")
      return saysWhy ? status === 404 || status === 400 : status === 404 && EMPTY_BODY_MESSAGE.test(error.message);
    if (this.#relay.sessionId === undefined || !(error instanceof this.#sdk.SdkHttpError)) return false;
    // the specification says 404; servers made with the older SDK answer 400 with the reason
    return status === 404 || (status === 400 && saysWhy);
  }
}

/** Matches the client's message for an answer without a body. */
const EMPTY_BODY_MESSAGE = /\(HTTP \d{3}\)(?:: (?:null)?)?$/u;

/** One login of a person, and the number of requests that wait for it. */
interface Login {
  readonly controller: AbortController;
  readonly done: Promise<void>;
  waiting: number;
}

export interface ListenFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

function identityOf(client: Client): PeerIdentity {
  const capabilities: unknown = client.getServerCapabilities();
  const serverInfo: unknown = client.getServerVersion();
  return {
    protocolVersion: client.getNegotiatedProtocolVersion() ?? "",
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    serverInfo: isJsonObject(serverInfo) ? serverInfo : undefined,
    instructions: client.getInstructions(),
  };
}
