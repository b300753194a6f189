/** A session of the revisions up to 2025-11-25 over HTTP, as any HTTP client has one. */
import type { JsonObject } from "../../src/core/base/json.ts";
import { eventsOf } from "./mcp-raw.ts";

export interface RawSession {
  /** Posts a message, or a batch of them. */
  post(message: JsonObject | readonly JsonObject[], signal?: AbortSignal): Promise<Response>;
  /** Opens the stream of the session itself. */
  get(): Promise<Response>;
  /** The messages of a response, once its stream has ended. */
  messages(response: Promise<Response>): Promise<readonly unknown[]>;
}

export async function rawSession(
  url: string,
  version: string,
  capabilities: JsonObject = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<RawSession> {
  let own: Readonly<Record<string, string>> = headers;
  const post: RawSession["post"] = (message, signal) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...own },
      body: JSON.stringify(message),
      ...(signal === undefined ? {} : { signal }),
    });
  const params = { protocolVersion: version, capabilities, clientInfo: { name: "raw", version: "1" } };
  const begun = await post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  await begun.text();
  own = { ...headers, "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": version };
  await (await post({ jsonrpc: "2.0", method: "notifications/initialized" })).text();
  const get = (): Promise<Response> => fetch(url, { headers: { accept: "text/event-stream", ...own } });
  return { post, get, messages: async (response) => eventsOf(await (await response).text()) };
}
