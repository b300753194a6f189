import type { Client } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { Callers } from "../../../src/engine/mcp/callers.ts";
import { McpConnection } from "../../../src/engine/mcp/connection.ts";
import type { Relay } from "../../../src/engine/mcp/relay.ts";
import type { Wire } from "../../../src/engine/mcp/wire.ts";
import { FakeClock, settle } from "../../../src/testing/fake-ports.ts";

class UnauthorizedError extends Error {}

/** A connection whose server wants a person to log in before it answers. */
function locked() {
  const visits: AbortSignal[] = [];
  const back = Promise.withResolvers<void>();
  let isOpen = false;
  const wire = {
    authorize: async (signal: AbortSignal) => {
      visits.push(signal);
      await back.promise;
      isOpen = true;
    },
  };
  const relay = { request: () => (isOpen ? Promise.resolve("in") : Promise.reject(new UnauthorizedError())) };
  const client = {
    getProtocolEra: () => "modern",
    getServerCapabilities: () => ({}),
    getServerVersion: () => undefined,
    getNegotiatedProtocolVersion: () => "2026-07-28",
    getInstructions: () => undefined,
  };
  const connection = new McpConnection({
    client: client as unknown as Client, // as far as a connection looks at them
    relay: relay as unknown as Relay,
    wire: wire as unknown as Wire,
    sdk: { UnauthorizedError } as never,
    callers: new Callers(new FakeClock()),
  });
  const ask = (signal: AbortSignal): Promise<unknown> => connection.request("tools/call", {}, { signal }).catch(String);
  return { ask, visits, back };
}

test("D12 one login serves all rejected requests, and outlives the request that started it", async () => {
  const { ask, visits, back } = locked();
  const first = new AbortController();
  const answers = [ask(first.signal), ask(new AbortController().signal)];
  await settle();
  first.abort(new Error("called off"));
  expect(await answers[0]).toBe("Error: called off");
  expect(visits.map(({ aborted }) => aborted)).toEqual([false]);
  back.resolve();
  expect([await answers[1], visits.length]).toEqual(["in", 1]);
});

test("a login that no request waits for any more is aborted, and the next request starts another", async () => {
  const { ask, visits, back } = locked();
  const controllers = [new AbortController(), new AbortController()];
  const answers = controllers.map(({ signal }) => ask(signal));
  await settle();
  for (const controller of controllers) controller.abort(new Error("called off"));
  expect(await Promise.all(answers)).toEqual(["Error: called off", "Error: called off"]);
  expect(visits.map(({ aborted }) => aborted)).toEqual([true]);
  const next = ask(new AbortController().signal);
  await settle();
  expect(visits).toHaveLength(2);
  back.resolve();
  expect(await next).toBe("in");
});
