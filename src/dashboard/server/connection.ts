/** The client of the page, the key that it uses, and whether the server answers. */
import { createClient, ApiError, type HaftClient } from "../../client/client.ts";

const KEY_NAME = "haft-key";
const READ_ONLY_NAME = "haft-read-only";

export interface ConnectionState {
  /** The key that was given; undefined = it is asked for. */
  readonly key: string | undefined;
  /** Why a key is asked for again. */
  readonly refusal: string | undefined;
  /** False from a request that failed on the way until the next that was answered. */
  readonly reachable: boolean;
  /** When it was reached again after it was not. */
  readonly returnedAt: number | undefined;
  /** The reader has put the page into a state in which nothing can be changed. */
  readonly readOnly: boolean;
}

type Listener = () => void;

/** One for the page. */
export class Connection {
  readonly client: HaftClient;
  readonly url = window.location.origin;
  #state: ConnectionState = {
    key: sessionStorage.getItem(KEY_NAME) ?? undefined,
    refusal: undefined,
    reachable: true,
    returnedAt: undefined,
    readOnly: sessionStorage.getItem(READ_ONLY_NAME) === "yes",
  };
  readonly #listeners = new Set<Listener>();

  constructor() {
    this.client = createClient({
      url: this.url,
      token: () => this.#state.key ?? "",
      maxAttempts: 3,
      fetch: (input, init) => this.#fetch(input, init),
    });
  }

  readonly state = (): ConnectionState => this.#state;

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Kept until the tab is closed, and in no address. */
  useKey(key: string): void {
    sessionStorage.setItem(KEY_NAME, key);
    this.#set({ key, refusal: undefined });
  }

  forgetKey(refusal?: string): void {
    sessionStorage.removeItem(KEY_NAME);
    this.#set({ key: undefined, refusal });
  }

  setReadOnly(readOnly: boolean): void {
    sessionStorage.setItem(READ_ONLY_NAME, readOnly ? "yes" : "no");
    this.#set({ readOnly });
  }

  async #fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(input, init);
    } catch (thrown: unknown) {
      if (init?.signal?.aborted !== true && this.#state.reachable) this.#set({ reachable: false });
      throw thrown;
    }
    if (!this.#state.reachable) this.#set({ reachable: true, returnedAt: Date.now() });
    if (response.status === 401 && this.#state.key !== undefined)
      this.forgetKey("The server did not accept this key. It may have expired, been revoked, or belong to an earlier start of the server.");
    return response;
  }

  #set(change: Partial<ConnectionState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** The text of a failure, and whether it means that there is nothing of that name. */
export function failureOf(error: unknown): { readonly text: string; readonly isGone: boolean } {
  if (error instanceof ApiError) return { text: error.message, isGone: error.status === 404 };
  return { text: error instanceof Error ? error.message : String(error), isGone: false };
}
