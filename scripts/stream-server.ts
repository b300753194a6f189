/**
 * A server of events for drills: `GET /events` as `EventHub` streams them. As a program,
 * `node --conditions=haft-source scripts/stream-server.ts <store> <events>` makes calls in the session `drill` until its log has so many events,
 * and prints its port.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { ERROR_CODES } from "../src/core/error-codes.ts";
import { ToolError } from "../src/core/error.ts";
import { omitUndefined } from "../src/core/base/omit-undefined.ts";
import { createRuntime } from "../src/runtime/runtime.ts";
import type { RuntimeSession } from "../src/runtime/runtime-session.ts";
import { EventHub } from "../src/server/events/event-hub.ts";
import { EVENT_STREAM_HEADERS } from "../src/server/events/sse.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";

/** Serves a hub on a port that is free. */
export async function serveEvents(hub: EventHub): Promise<{ readonly url: string; readonly server: Server; close(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => void answer(hub, incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/events`,
    server,
    async close() {
      hub.close();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(hub: EventHub, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  try {
    const { searchParams } = new URL(incoming.url ?? "/", "http://127.0.0.1");
    const sessionId = searchParams.get("session") ?? undefined;
    const after = incoming.headers["last-event-id"]?.toString() ?? searchParams.get("after") ?? undefined;
    const stream = await hub.open(omitUndefined({ sessionId }), omitUndefined({ after, signal: gone.signal }));
    outgoing.writeHead(200, EVENT_STREAM_HEADERS);
    await pipeline(stream, outgoing);
  } catch (thrown: unknown) {
    const { code, message } = ToolError.fromUnknown(thrown, "execution_failed");
    if (!outgoing.headersSent) outgoing.writeHead(ERROR_CODES[code].http, { "content-type": "application/problem+json" });
    outgoing.end(JSON.stringify({ code, message }));
  }
}

async function fill(session: RuntimeSession, events: number): Promise<void> {
  while (session.length < events) await session.execute([{ name: "tick" }, { name: "tick" }, { name: "tick" }]);
}

async function main(path: string, events: number): Promise<void> {
  process.once("disconnect", () => process.exit()); // where a drill has started it, and is gone
  const tick = {
    name: "tick",
    description: "Ticks.",
    inputSchema: { type: "object" },
    effects: { reads: [], writes: [] },
    execute: () => "tock",
  };
  const runtime = createRuntime({ tools: [tick], store: sqliteStore({ path }) });
  const { url } = await serveEvents(new EventHub(runtime));
  console.log(url);
  const session = await runtime.resume("drill", { create: true, takeOver: true });
  await fill(session, events);
  console.log(`done ${session.length}`);
}

if (import.meta.main) await main(process.argv[2] ?? "", Number(process.argv[3] ?? 1_000));
