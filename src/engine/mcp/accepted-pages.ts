/**
 * The pages that a person has agreed to open for one request. In the revision 2025-11-25 the answer `accept` does not mean that the person has
 * finished there, so the server may refuse the request a few more times.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests
 */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import { sleep } from "../../processes/sleep.ts";
import { isWebAddress } from "./web-address.ts";

/** How often the request is sent again after the last answer of the person, and the wait before each, in milliseconds: 20 seconds in all, as for logins. */
const MAX_RESENDS = 20;
const RESEND_DELAY_MS = 1_000;

export class AcceptedPages {
  readonly #clock: Clock;
  readonly #keys = new Set<string>();
  #resends = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the person has agreed to all of these pages. */
  include(requests: JsonObject): boolean {
    return Object.values(requests).every((request) => this.#keys.has(keyOf(request)));
  }

  add(requests: JsonObject): void {
    for (const request of Object.values(requests)) this.#keys.add(keyOf(request));
    this.#resends = 0;
  }

  /** Waits until the request is to be sent again; false if the person has had enough time. @throws the reason of the signal, as a rejection */
  async waitToResend(signal: AbortSignal): Promise<boolean> {
    if (this.#resends++ === MAX_RESENDS) return false;
    await sleep(this.#clock, RESEND_DELAY_MS, signal);
    return true;
  }
}

/** Identifies a page by its message and host: many servers make a new id, and so a new address, each time they ask for it. */
function keyOf(request: JsonValue): string {
  const params = isJsonObject(request) && isJsonObject(request["params"]) ? request["params"] : {};
  const { message, url } = params;
  const address = typeof url === "string" && URL.canParse(url) ? new URL(url).origin : null;
  return JSON.stringify([message ?? null, address]);
}

/** The hint for a call that was refused until a person has visited pages; undefined if the error names no page on the web. */
export function describePages(data: JsonValue | undefined): string | undefined {
  const listed = isJsonObject(data) ? data["elicitations"] : undefined;
  const pages = (isJsonArray(listed) ? listed : []).flatMap((page) => {
    const url = isJsonObject(page) ? page["url"] : undefined;
    return typeof url === "string" && url.length <= MAX_ADDRESS_CHARS && isWebAddress(url) ? [url] : [];
  });
  if (pages.length === 0) return undefined;
  return `The user must finish on ${pages.slice(0, MAX_PAGES).join(" and ")} first; then call again.`;
}

const MAX_ADDRESS_CHARS = 2_000;
/** Maximum number of pages that a hint names. */
const MAX_PAGES = 4;
