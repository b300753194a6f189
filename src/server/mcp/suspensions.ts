/** Work that waits in memory for its client to return: limited in number and time, and found again by a signed state. */
import type { RequestStateCodec, ServerContext } from "@modelcontextprotocol/server";
import type { Exchange } from "./exchange.ts";
import type { Settings } from "./options.ts";
import { createSecret } from "../../net/secret.ts";
import type { ServerModule } from "./sdk.ts";
import { INVALID_PARAMS } from "../../engine/mcp/rpc-codes.ts";
import { ToolError } from "../../core/error.ts";

/** The state of a request, which identifies its work. Signed, not secret. */
interface State {
  readonly id: string;
  /** The number of the response that it came with: states of earlier responses are invalid. */
  readonly round: number;
  /** Digest of the request that began the work: other requests cannot resume it. */
  readonly digest: string;
}

interface Suspended {
  readonly exchange: Exchange<unknown>;
  readonly digest: string;
  readonly round: number;
  readonly stopTimer: () => void;
}

export class Suspensions {
  readonly #sdk: ServerModule;
  readonly #settings: Settings;
  readonly #codec: RequestStateCodec<State>;
  readonly #suspended = new Map<string, Suspended>();
  /** Number of waiting questions whose request stays open. */
  #open = 0;

  constructor(sdk: ServerModule, settings: Settings) {
    this.#sdk = sdk;
    this.#settings = settings;
    const { suspendedTtlMs } = settings;
    this.#codec = sdk.createRequestStateCodec<State>({
      key: createSecret(),
      ttlSeconds: Math.max(1, Math.ceil(suspendedTtlMs / 1_000)),
      bind: (context) => `${context.mcpReq.method}\0${context.http?.authInfo?.clientId ?? ""}`,
    });
  }

  get isFull(): boolean {
    return this.#suspended.size + this.#open >= this.#settings.maxSuspended;
  }

  /**
   * Waits for the answer to a question of the older era, whose request stays open. The same limits apply, because an HTTP client may disconnect
   * unnoticed. `ask` is called with the signal that ends the wait.
   *
   * @throws ToolError `timeout` if the answer does not come in time, `limit_exceeded` if too many wait; as a rejection
   */
  async askWithTimeout<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.isFull) throw tooManyWaitingError();
    const { clock, suspendedTtlMs } = this.#settings;
    const late = new AbortController();
    const gone = new ToolError("timeout", "The client did not answer the question in time.");
    const stopTimer = clock.timer(() => late.abort(gone), suspendedTtlMs, { background: true });
    this.#open++;
    try {
      return await ask(AbortSignal.any([signal, late.signal]));
    } catch (error: unknown) {
      throw late.signal.aborted ? gone : error;
    } finally {
      this.#open--;
      stopTimer();
    }
  }

  /** For the SDK: returns the decoded state, or throws. */
  readonly verify = (state: string, context: ServerContext): Promise<unknown> => this.#codec.verify(state, context);

  /** Returns the context with its state decoded. @throws the SDK's error for a state that is invalid or expired, as a rejection */
  async withVerifiedState(context: ServerContext): Promise<ServerContext> {
    const sent: unknown = context.mcpReq.requestState();
    if (sent === undefined) return context;
    const state = typeof sent === "string" ? await this.#verifyState(sent, context) : undefined;
    if (state === undefined)
      throw new this.#sdk.ProtocolError(INVALID_PARAMS, "Invalid or expired requestState", { reason: "invalid_request_state" });
    const requestState = (() => state) as ServerContext["mcpReq"]["requestState"]; // fits any type that its caller names
    return { ...context, mcpReq: { ...context.mcpReq, requestState } };
  }

  async #verifyState(sent: string, context: ServerContext): Promise<State | undefined> {
    try {
      return await this.#codec.verify(sent, context);
    } catch {
      return undefined; // the client is not told why
    }
  }

  /** Suspends work. The returned state resumes it once. Work that is not resumed in time is cancelled. */
  async suspend<T>(exchange: Exchange<T>, digest: string, context: ServerContext): Promise<string> {
    const before = context.mcpReq.requestState();
    const { id, round } = isState(before) ? { id: before.id, round: before.round + 1 } : { id: this.#settings.ids.next("wait"), round: 1 };
    const stopTimer = this.#settings.clock.timer(
      () => {
        this.#suspended.delete(id);
        exchange.cancel("the client did not send the answers to its questions in time");
      },
      this.#settings.suspendedTtlMs,
      { background: true },
    );
    this.#suspended.set(id, { exchange, digest, round, stopTimer });
    return this.#codec.mint({ id, round, digest }, context);
  }

  /** Takes the suspended work of a state, once; undefined if there is none, or it belongs to another request. */
  resume(state: unknown, digest: string): Exchange<unknown> | undefined {
    if (!isState(state)) return undefined;
    const found = this.#suspended.get(state.id);
    if (found === undefined || found.round !== state.round || state.digest !== digest || found.digest !== digest) return undefined;
    this.#suspended.delete(state.id);
    found.stopTimer();
    return found.exchange;
  }

  close(): void {
    for (const { exchange, stopTimer } of this.#suspended.values()) {
      stopTimer();
      exchange.cancel("the server is stopping");
    }
    this.#suspended.clear();
  }
}

export function tooManyWaitingError(): ToolError {
  return new ToolError("limit_exceeded", "Too many calls are waiting for an answer from their clients.");
}

function isState(state: unknown): state is State {
  return typeof state === "object" && state !== null && "id" in state && "round" in state && "digest" in state;
}
