import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { Relay, type RelayEvents } from "../../../src/engine/mcp/relay.ts";
import { settle } from "../../../src/testing/fake-ports.ts";

/** A relay to a server of which the test decides what it sends and when it takes what it is sent. */
function world(events: Partial<RelayEvents> = {}) {
  const sent: JSONRPCMessage[] = [];
  const untaken: (() => void)[] = [];
  const dropped: string[] = [];
  const inner: Transport = {
    start: async () => {},
    close: async () => {},
    send: (message) => {
      sent.push(message);
      return new Promise((resolve) => untaken.push(resolve));
    },
  };
  const relay = new Relay(inner, {
    onNotification: () => {},
    onRequest: () => undefined,
    onDropped: (what) => dropped.push(what),
    ...events,
  });
  // As the official client answers
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  relay.onmessage = (message) => {
    if ("method" in message && "id" in message) void relay.send({ jsonrpc: "2.0", id: message.id, result: {} });
  };
  const receive = (message: object): void => inner.onmessage?.({ jsonrpc: "2.0", ...message } as JSONRPCMessage); // whatever it is
  return { relay, receive, sent, dropped, takeAll: () => untaken.splice(0).forEach((take) => take()) };
}

describe("a server that sends requests and does not read the answers", () => {
  test.each([
    ["ping", {}],
    ["roots/list", { onRequest: async () => ({ roots: [] }) }],
    ["sampling/createMessage", { onRequest: async () => Promise.reject(new Error("no")) }],
  ])("has at most 1,000 unread answers (%s), and more once it has read these", async (method, events) => {
    const { receive, sent, dropped, takeAll } = world(events);
    for (let id = 0; id < 5_000; id++) receive({ id, method });
    await settle();
    expect([sent.length, dropped.length]).toEqual([1_000, 4_000]);
    takeAll();
    await settle();
    receive({ id: 5_000, method });
    await settle();
    expect([sent.length, sent.at(-1)]).toMatchObject([1_001, { id: 5_000 }]);
  });

  test("is still sent requests", async () => {
    const { relay, receive, sent } = world();
    for (let id = 0; id < 5_000; id++) receive({ id, method: "ping" });
    void relay.request({ method: "tools/call", params: {}, signal: new AbortController().signal });
    await settle();
    expect(sent.at(-1)).toMatchObject({ method: "tools/call" });
  });
});

describe("a server that sends requests without end", () => {
  test("has at most 64 requests answered at a time; the others are rejected until one is answered", async () => {
    const answers: ((answer: JsonObject) => void)[] = [];
    const { receive, sent, takeAll } = world({ onRequest: () => new Promise((resolve) => answers.push(resolve)) });
    for (let id = 0; id < 1_000; id++) receive({ id, method: "elicitation/create" });
    expect([answers.length, sent.length]).toEqual([64, 936]);
    expect(sent[0]).toEqual({
      jsonrpc: "2.0",
      id: 64,
      error: { code: -32_000, message: "64 requests of this server are being answered already; send the next after an answer." },
    });
    takeAll();
    answers[0]?.({ action: "cancel" });
    await settle();
    receive({ id: 1_000, method: "elicitation/create" });
    expect([answers.length, sent.at(-1)]).toEqual([65, { jsonrpc: "2.0", id: 0, result: { action: "cancel" } }]);
  });

  test("gets an error for a second request with an id that is in use", async () => {
    const answers: ((answer: JsonObject) => void)[] = [];
    const { receive, sent } = world({ onRequest: () => new Promise((resolve) => answers.push(resolve)) });
    receive({ id: "q", method: "elicitation/create" });
    receive({ id: "q", method: "elicitation/create" });
    answers[0]?.({ action: "cancel" });
    await settle();
    expect([answers.length, sent]).toEqual([
      1,
      [
        { jsonrpc: "2.0", id: null, error: { code: -32_600, message: 'The id "q" is in use by a request that is being answered.' } },
        { jsonrpc: "2.0", id: "q", result: { action: "cancel" } },
      ],
    ]);
  });
});

test.each([
  [{}, "neither a result nor an error"],
  [{ error: null }, "neither a result nor an error"],
  [{ result: {}, error: { code: 1, message: "no" } }, "both a result and an error"],
])("an answer with %j fails its request at once", async (parts, what) => {
  const { relay, receive } = world();
  const request = relay.request({ method: "tools/call", params: {}, signal: new AbortController().signal });
  receive({ id: 1, ...parts });
  await expect(request).rejects.toMatchObject({ code: "invalid_output", message: `it sent an answer that has ${what}` });
});

test("an answer with a result and a null error is accepted", async () => {
  const { relay, receive } = world();
  const request = relay.request({ method: "tools/call", params: {}, signal: new AbortController().signal });
  receive({ id: 1, error: null, result: { content: [] } });
  expect(await request).toEqual({ content: [] });
});
