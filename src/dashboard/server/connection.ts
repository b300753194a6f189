/** The client of the page, its key, and whether the server answers. */
import { createClient, type AnswerOf, type HaftClient } from "../../client/client.ts";
import { basePath, storageKey } from "../show/address.ts";
import { forgetStored, readStored, storeValue } from "../show/stored-values.ts";
import { detectEvents } from "./detect-events.ts";
import { ServerClock } from "./server-clock.ts";

const KEY_NAME = "haft-key";
const READ_ONLY_NAME = "haft-read-only";

export interface ConnectionState {
  /** The key that was given; undefined = the page asks for one. */
  readonly key: string | undefined;
  /** Why the page asks for a key again. */
  readonly refusal: string | undefined;
  /** Whether the server has refused a key that worked before. The screens are kept hidden with what was typed, for a key of the same principal. */
  readonly keepsScreens: boolean;
  /** Counts the principals: data that was read for one is dropped with it. */
  readonly generation: number;
  /** False from a request that got no answer until the next one that gets an answer. */
  readonly reachable: boolean;
  /** When the server last became reachable again, by the clock of the server. */
  readonly returnedAt: number | undefined;
  /** Whether the reader has made the page read-only. */
  readonly readOnly: boolean;
  /** Whether a stream reports changes of lists, so that they need not be polled. */
  readonly isLive: boolean;
}

/** How long to wait before a lost stream is opened again, in milliseconds. */
const RECONNECT_MS = 3_000;

const KEY_REFUSED = "The server did not accept this key. It may have expired, been revoked, or belong to an earlier start of the server.";

type Listener = () => void;

/** The connection to the server. The page has one. */
export class Connection {
  readonly client: HaftClient;
  readonly url = window.location.origin + basePath();
  #state: ConnectionState = {
    key: readStored("session", storageKey(KEY_NAME)),
    refusal: undefined,
    keepsScreens: false,
    generation: 0,
    reachable: true,
    returnedAt: undefined,
    readOnly: readStored("session", storageKey(READ_ONLY_NAME)) === "yes",
    isLive: false,
  };
  readonly #listeners = new Set<Listener>();
  readonly #clock = new ServerClock();
  /** The id of the key's principal, once the server has returned it. */
  #principal: string | undefined;

  constructor() {
    this.client = createClient({
      url: this.url,
      token: () => this.#state.key ?? "",
      maxAttempts: 3,
      fetch: (input, init) => this.#fetch(input, init),
    });
  }

  readonly getState = (): ConnectionState => this.#state;

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Returns the server's time, in wall-clock milliseconds since the epoch; that of this machine until a response has told it. */
  readonly now = (): number => this.#clock.now();

  /** Returns the server's time, and asks the server if no response has told it. */
  async readNow(signal: AbortSignal): Promise<number> {
    if (!this.#clock.isKnown) await this.client.call("getHealth", { signal });
    return this.now();
  }

  /** Uses a key until the tab is closed, and in no address. Ignores spaces and line breaks, as text copied from a terminal has. Refuses one that cannot be sent, or that the server rejects while screens are kept. */
  async setKey(given: string): Promise<void> {
    const key = given.replaceAll(/\s+/gu, "");
    if (!/^[!-~]+$/u.test(key))
      return this.#update({ refusal: "This is not a key: it has letters or invisible characters that no key has. Copy it again." });
    let { generation } = this.#state;
    if (this.#state.keepsScreens) {
      const keyInfo = await this.#fetchPrincipal(key).catch(() => undefined); // the page says already that the server does not answer
      if (keyInfo === undefined || !this.#state.keepsScreens) return;
      if (keyInfo.status === 401) return this.#update({ refusal: KEY_REFUSED });
      // The key may still belong to the same principal: a busy or starting server must not make the page drop what was typed.
      if (keyInfo.id === undefined)
        return this.#update({ refusal: `The server did not say who this key belongs to (HTTP ${keyInfo.status}). Try again.` });
      if (keyInfo.id !== this.#principal) generation++;
      this.#principal = keyInfo.id;
    } else generation++;
    storeValue("session", storageKey(KEY_NAME), key);
    this.#update({ key, refusal: undefined, keepsScreens: false, generation });
  }

  forgetKey(): void {
    forgetStored("session", storageKey(KEY_NAME));
    this.#principal = undefined;
    this.#update({ key: undefined, refusal: undefined, keepsScreens: false, generation: this.#state.generation + 1 });
  }

  /** Notes the principal of a key. Ignores the answer to a request with an earlier key. */
  recordPrincipal(key: string | undefined, id: string): void {
    if (key === this.#state.key) this.#principal = id;
  }

  async #fetchPrincipal(key: string): Promise<{ readonly status: number; readonly id: string | undefined }> {
    const response = await this.#fetch(`${this.url}/v1/info`, { headers: { authorization: `Bearer ${key}` } });
    if (!response.ok) return { status: response.status, id: undefined };
    const { principal } = (await response.json()) as AnswerOf<"getInfo">; // as the server writes it
    return { status: response.status, id: principal.id };
  }

  setReadOnly(readOnly: boolean): void {
    storeValue("session", storageKey(READ_ONLY_NAME), readOnly ? "yes" : "no");
    this.#update({ readOnly });
  }

  /** Calls `onEvent` for events of these types until the signal aborts. Reconnects when the connection is lost. */
  async watch(types: string, onEvent: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#watchOnce(`${this.url}/v1/events?types=${types}`, onEvent, signal).catch(() => {}); // the next attempt finds out
      if (this.#state.isLive) this.#update({ isLive: false });
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }

  async #watchOnce(url: string, onEvent: () => void, signal: AbortSignal): Promise<void> {
    const headers = { accept: "text/event-stream", authorization: `Bearer ${this.#state.key ?? ""}` };
    const { ok, body } = await this.#fetch(url, { headers, signal });
    if (!ok || body === null) return;
    this.#update({ isLive: true });
    onEvent(); // for events before the stream was open
    await detectEvents(body, onEvent);
  }

  async #fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    let response: Response;
    const sentAt = Date.now();
    try {
      response = await fetch(input, init);
    } catch (thrown: unknown) {
      if (init?.signal?.aborted !== true && this.#state.reachable) this.#update({ reachable: false });
      throw thrown;
    }
    // A gateway answers in place of the server.
    if (response.status === 502 || response.status === 504) {
      if (this.#state.reachable) this.#update({ reachable: false });
      return response;
    }
    this.#clock.observe(response.headers.get("date"), sentAt);
    if (!this.#state.reachable) this.#update({ reachable: true, returnedAt: this.now() });
    // An answer to a request with an earlier key says nothing about the current one.
    const isForCurrentKey = new Headers(init?.headers).get("authorization") === `Bearer ${this.#state.key}`;
    if (response.status !== 401 || this.#state.key === undefined || !isForCurrentKey) return response;
    const keepsScreens = this.#principal !== undefined;
    if (!keepsScreens) this.forgetKey();
    forgetStored("session", storageKey(KEY_NAME));
    this.#update({ key: undefined, refusal: KEY_REFUSED, keepsScreens });
    if (keepsScreens && (init?.method ?? "GET") === "GET") await rejectOnAbort(init?.signal); // the kept screens abort the request when they unmount
    return response;
  }

  #update(change: Partial<ConnectionState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** Waits until the signal aborts, so that no screen replaces its data with the refusal. Rejects at once without a signal. */
function rejectOnAbort(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal?.reason ?? new DOMException("The key was refused.", "AbortError"));
    if (signal === null || signal === undefined || signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
