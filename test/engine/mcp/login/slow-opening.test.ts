import { expect, test, vi } from "vitest";
import type { Engine } from "../../../../src/core/engine.ts";
import { PerUserEngine } from "../../../../src/engine/mcp/login/per-user-engine.ts";
import { FakeClock } from "../../../../src/testing/fake-ports.ts";
import { engineContext, request, toolContext } from "../../engine-contexts.ts";

test("a user whose first connection never opens gets another one for a later call", async () => {
  const clock = new FakeClock();
  let opened = 0;
  const makeEngine = (): Engine => ({
    kind: "fake",
    open: ({ signal }) => {
      if (++opened !== 2) return Promise.resolve([]); // the first one lists the tools
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    },
    list: () => Promise.resolve([]),
    call: () => Promise.resolve("okay"),
  });
  const auth = {
    type: "token-exchange",
    issuer: "http://127.0.0.1:9",
    clientId: "a",
    clientSecret: "b",
    subjectToken: () => "t",
    listWith: { type: "bearer", token: "x" },
  } as const;
  const engine = new PerUserEngine({ url: "http://127.0.0.1:9/mcp", auth }, { auth, makeEngine });
  await engine.open(engineContext({ clock }));
  const call = (): Promise<unknown> => engine.call(request("echo"), toolContext());
  const first = call().catch((error: unknown) => error);
  await vi.waitFor(() => expect(opened).toBe(2));
  await clock.advance(60_000);
  expect(await first).toMatchObject({ code: "unavailable", outcome: "not_started" });
  expect(await call()).toBe("okay");
  await engine.close();
});
