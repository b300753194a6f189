import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { mcpPeerOf, type McpPeer, type PeerNotification } from "../../../src/engine/mcp/peer.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { event, legacy, loopbackMcp, openHttp, type Answers, type LoopbackMcp, type OpenedMcp } from "./loopback-mcp.ts";

const options = { signal: new AbortController().signal };
const CAPABILITIES = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true }, logging: {} };

interface Stream {
  readonly response: ServerResponse;
  readonly lastEventId: string | undefined;
  readonly session: string | undefined;
}

interface Streaming {
  readonly server: LoopbackMcp;
  /** The streams that were asked for, in order. */
  readonly streams: readonly Stream[];
}

/** A server that has a session for each `initialize`, and opens a stream as `open` does. */
async function streamServer({ open = begin, refusesIds = false } = {}) {
  const streams: Stream[] = [];
  let session = 0;
  let known = true;
  let refusals = 0;
  let refusal = 503;
  const knows = (id: unknown): boolean => known && id === `session-${session}`;
  const inSession =
    (answer: NonNullable<Answers[string]>): NonNullable<Answers[string]> =>
    (asked) =>
      knows(asked.headers["mcp-session-id"]) ? answer(asked) : void asked.response.writeHead(404).end();
  const server = await loopbackMcp({
    ...legacy(CAPABILITIES),
    initialize: ({ response }) => {
      if (refusals-- > 0) return void response.writeHead(refusal).end();
      known = true;
      response.setHeader("mcp-session-id", `session-${++session}`);
      return { protocolVersion: "2025-11-25", capabilities: CAPABILITIES, serverInfo: { name: "loopback", version: "1" } };
    },
    ping: inSession(() => ({})),
    "resources/subscribe": inSession(() => ({})),
    "logging/setLevel": inSession(() => ({})),
    GET: ({ response, headers }) => {
      const { "mcp-session-id": id, "last-event-id": lastEventId } = headers;
      streams.push({ response, session: String(id), lastEventId: lastEventId === undefined ? undefined : String(lastEventId) });
      if (refusesIds && lastEventId !== undefined) response.writeHead(400).end();
      else if (knows(id)) open(response);
      else response.writeHead(404).end();
      return undefined;
    },
  });
  /** Forgets the session, and refuses to begin another so often. */
  const forget = (refuse = 0, status = 503): void => {
    known = false;
    refusals = refuse;
    refusal = status;
  };
  return { server, streams, forget };
}

function begin(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
}

function peerOf({ engine }: OpenedMcp): McpPeer {
  const peer = mcpPeerOf(engine);
  if (peer === undefined) throw new Error("the engine has no peer");
  return peer;
}

/** Opens an engine, and keeps what the server says by itself. */
async function listening({ server }: Pick<Streaming, "server">, clock = new FakeClock()) {
  const opened = await openHttp({ url: server.url, protocol: "legacy" }, { clock });
  const peer = peerOf(opened);
  const heard: PeerNotification[] = [];
  peer.onNotification((notification) => heard.push(notification));
  return { ...opened, peer, heard, clock };
}

const methods = (heard: readonly PeerNotification[]): readonly string[] => heard.map(({ method }) => method.replace("notifications/", ""));
const asks = ({ server }: Pick<Streaming, "server">, method: string): readonly JsonObject[] =>
  server.asked.filter((one) => one.method === method).map(({ params }) => params);
const updated = (uri: string): JsonObject => ({ method: "notifications/resources/updated", params: { uri } });

/** Moves the time on, second by second, until the check holds. */
async function until(clock: FakeClock, check: () => void): Promise<void> {
  await vi.waitFor(
    async () => {
      await clock.advance(1_000);
      check();
    },
    { timeout: 5_000, interval: 10 },
  );
}

describe("the stream for messages of the server (2025-11-25)", () => {
  test("F4.27 is reopened when a proxy ends it, with its last event id and after the retry time of the server", async () => {
    const served = await streamServer();
    const { clock, heard, changes } = await listening(served);
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    const [first] = served.streams;
    first?.response.write("retry: 20000\nid: e1\ndata: \n\n");
    first?.response.end(`id: e2\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...updated("memo://1") })}\n\n`);
    await vi.waitFor(() => expect(methods(heard)).toEqual(["resources/updated"]));
    await vi.waitFor(() => expect(clock.pending).toBeGreaterThan(0));
    await clock.advance(250);
    await vi.waitFor(() => expect(clock.nextIn).toBe(19_750));
    await clock.advance(19_749);
    expect(served.streams).toHaveLength(1);
    await clock.advance(1);
    await vi.waitFor(() => expect(served.streams).toHaveLength(2));
    const second = served.streams[1];
    expect(second).toMatchObject({ lastEventId: "e2", session: "session-1" });
    if (second !== undefined) event(second.response, updated("memo://2"));
    await vi.waitFor(() => expect(heard.map(({ params }) => params["uri"])).toEqual(["memo://1", "memo://2"]));
    expect(changes()).toBe(0); // the server replays what it sent meanwhile
  });

  test("F4.27 is reopened however often it ends, and all lists are reported as changed", async () => {
    const served = await streamServer();
    const { clock, heard, changes } = await listening(served);
    for (let count = 1; count <= 6; count++) {
      await until(clock, () => expect(served.streams).toHaveLength(count));
      served.streams.at(-1)?.response.destroy();
    }
    await until(clock, () => expect(served.streams).toHaveLength(7));
    await vi.waitFor(() => expect(changes()).toBe(6));
    expect(methods(heard).slice(0, 2)).toEqual(["prompts/list_changed", "resources/list_changed"]);
    expect(asks(served, "initialize")).toHaveLength(1);
  });

  test("F4.27 survives an outage of an hour", async () => {
    const served = await streamServer();
    const { clock, heard } = await listening(served);
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    const start = await served.server.stop();
    for (let minute = 0; minute < 60; minute++) {
      await clock.advance(60_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await start();
    await until(clock, () => expect(served.streams).toHaveLength(2));
    const second = served.streams[1];
    if (second !== undefined) event(second.response, { method: "notifications/prompts/list_changed" });
    await vi.waitFor(() => expect(methods(heard).at(-1)).toBe("prompts/list_changed"));
  });

  test("F4.27 is reopened without a call in a new session, with subscriptions and log level restored, if the session was lost", async () => {
    const served = await streamServer();
    const { clock, heard, peer, changes } = await listening(served);
    await peer.subscribe({ uri: "memo://1" }, options);
    await peer.setLogLevel({ level: "info" }, options);
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    served.forget();
    served.streams[0]?.response.end();
    await until(clock, () => expect(served.streams.at(-1)?.session).toBe("session-2"));
    await vi.waitFor(() => {
      expect(asks(served, "resources/subscribe")).toEqual([{ uri: "memo://1" }, { uri: "memo://1" }]);
      expect(asks(served, "logging/setLevel")).toEqual([{ level: "info" }, { level: "info" }]);
      expect([...methods(heard)].sort()).toEqual(["prompts/list_changed", "resources/list_changed", "resources/updated"]);
      expect(changes()).toBe(1);
    });
  });

  test("F4.27 is retried until a server that lost the session can start a new one", async () => {
    const served = await streamServer();
    const { clock, heard } = await listening(served);
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    served.forget(6);
    served.streams[0]?.response.end();
    await until(clock, () => expect(served.streams.at(-1)?.session).toBe("session-2"));
    expect(asks(served, "initialize")).toHaveLength(8);
    await vi.waitFor(() => expect([...methods(heard)].sort()).toEqual(["prompts/list_changed", "resources/list_changed"]));
  });

  test("asks a person to log in only once if the server lost the session and requires a login", async () => {
    const served = await streamServer();
    const clock = new FakeClock();
    let asked = 0;
    const callback = (): Promise<URLSearchParams> => Promise.reject(new Error(`nobody logged in ${++asked}`));
    const auth = { type: "oauth", provider: { token: () => Promise.resolve("t") }, callback } as const;
    await openHttp({ url: served.server.url, protocol: "legacy", auth }, { clock });
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    served.forget(Infinity, 401);
    served.streams[0]?.response.end();
    await until(clock, () => expect(asked).toBe(1));
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(60_000);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(asked).toBe(1);
  });

  test("is reopened without an event id if the server no longer has the last event, and all lists are reported as changed", async () => {
    const served = await streamServer({ refusesIds: true });
    const { clock, changes } = await listening(served);
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    served.streams[0]?.response.end("id: e1\ndata: \n\n");
    await until(clock, () => expect(served.streams).toHaveLength(3));
    expect(served.streams.map(({ lastEventId }) => lastEventId)).toEqual([undefined, "e1", undefined]);
    await vi.waitFor(() => expect(changes()).toBe(1));
    expect(asks(served, "initialize")).toHaveLength(1);
  });

  test.each([405, 404, 400, 501])("is not requested again after HTTP %i", async (status) => {
    let opened = 0;
    const served = await streamServer({ open: (response) => void (opened++, response.writeHead(status).end()) });
    const { clock } = await listening(served);
    await vi.waitFor(() => expect(opened).toBe(1));
    for (let minute = 0; minute < 10; minute++) await clock.advance(60_000);
    expect(opened).toBe(1);
    expect(asks(served, "initialize")).toHaveLength(1);
  });

  test("is not requested again after an HTML page", async () => {
    const served = await streamServer({ open: (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>") });
    const { clock } = await listening(served);
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    for (let minute = 0; minute < 10; minute++) await clock.advance(60_000);
    expect(served.streams).toHaveLength(1);
  });

  test("is ended by closing the engine, which leaves no timer", async () => {
    const served = await streamServer();
    const { clock, engine } = await listening(served);
    await vi.waitFor(() => expect(served.streams).toHaveLength(1));
    const ended = new Promise((resolve) => served.streams[0]?.response.once("close", resolve));
    await engine.close?.();
    await ended;
    await clock.advance(120_000);
    expect([served.streams.length, clock.pending]).toEqual([1, 0]);
  });
});
