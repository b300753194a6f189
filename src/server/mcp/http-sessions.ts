/** Clients of the revisions up to 2025-11-25 over HTTP: each has a session, because the server may ask them something. */
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../core/json.ts";
import type { JsonValue } from "../../core/json.ts";
import type { RuntimeSession } from "../../runtime/session/runtime-session.ts";
import type { Gateway } from "./gateway.ts";
import { refusal } from "./http-guard.ts";
import type { HttpSettings } from "./http-options.ts";

const SESSION_HEADER = "mcp-session-id";
const SESSION_NOT_FOUND = -32_001;

interface ClientSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly close: () => Promise<void>;
  /** Requests that are being answered. */
  busy: number;
  forgetIdle: () => void;
}

export class HttpSessions {
  readonly #gateway: Gateway;
  readonly #settings: HttpSettings;
  /** By id, the one that has been idle longest first. */
  readonly #sessions = new Map<string, ClientSession>();

  constructor(gateway: Gateway, settings: HttpSettings) {
    this.#gateway = gateway;
    this.#settings = settings;
  }

  async handle(request: Request, body: JsonValue | undefined): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    if (id === null)
      return isInitialize(body) ? this.#begin(request, body) : refusal(400, "The request needs the Mcp-Session-Id that initialize gave.");
    const session = this.#sessions.get(id);
    if (session === undefined) return refusal(404, "There is no such session (any more).", {}, SESSION_NOT_FOUND);
    this.#touch(id, session);
    session.busy++;
    try {
      return await session.transport.handleRequest(request, { parsedBody: body });
    } finally {
      session.busy--;
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(Array.from(this.#sessions.keys(), (id) => this.#end(id)));
  }

  async #begin(request: Request, body: JsonValue | undefined): Promise<Response> {
    const { sdk, runtime, settings } = this.#gateway;
    let session: RuntimeSession | undefined;
    const seatSession = (): RuntimeSession | undefined => (settings.session === "none" ? undefined : (session ??= runtime.session()));
    const server = this.#gateway.makeServer({ era: "legacy", isTold: true, session: seatSession });
    const close = async (): Promise<void> => {
      await server.close();
      await session?.close();
    };
    const transport: WebStandardStreamableHTTPServerTransport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => settings.ids.next("mcp"),
      onsessioninitialized: (id) => this.#add(id, { transport, close, busy: 0, forgetIdle: () => {} }),
      onsessionclosed: (id) => this.#end(id),
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body });
    if (transport.sessionId === undefined) await close();
    return response;
  }

  #add(id: string, session: ClientSession): void {
    while (this.#sessions.size >= this.#settings.maxSessions) {
      const [idle] = [...this.#sessions].find(([, { busy }]) => busy === 0) ?? [...this.#sessions][0] ?? [];
      if (idle === undefined) break;
      void this.#end(idle);
    }
    this.#touch(id, session);
  }

  #touch(id: string, session: ClientSession): void {
    session.forgetIdle();
    session.forgetIdle = this.#gateway.settings.clock.timer(
      () => (session.busy > 0 ? this.#touch(id, session) : void this.#end(id)),
      this.#settings.sessionIdleMs,
      { background: true },
    );
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined || !this.#sessions.delete(id)) return;
    session.forgetIdle();
    await session.close();
  }
}

function isInitialize(body: JsonValue | undefined): boolean {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  return messages.some((message) => isJsonObject(message) && message["method"] === "initialize");
}
