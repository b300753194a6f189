/** What logins and connections of users keep, and for how long. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { RemoteJob } from "../../../../src/core/jobs/remote-job.ts";
import { UserLogins, mcpEngine } from "../../../../src/engine/mcp.ts";
import { LoginFlows } from "../../../../src/engine/mcp/login/login-flows.ts";
import type { LoginServer } from "../../../../src/engine/mcp/login/user-logins.ts";
import { FakeClock } from "../../../../src/testing/fake-ports.ts";
import { engineContext, request, toolContext } from "../../engine-contexts.ts";
import { loopbackMcp, modern, text } from "../loopback-mcp.ts";
import { settled } from "../settled.ts";

test("the results of finished flows are not retained", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // as the flag adds it
  const flows = new LoginFlows(new FakeClock());
  const kept: WeakRef<object>[] = [];
  for (let flow = 0; flow < 20; flow++) {
    await flows.run("tickets", () => {
      const result = { tokens: "x".repeat(1_000) };
      kept.push(new WeakRef(result));
      return Promise.resolve(result);
    });
  }
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(kept.slice(0, 10).filter((each) => each.deref() !== undefined)).toEqual([]);
});

class WatchedLogins extends UserLogins {
  server: LoginServer | undefined;

  override addServer(name: string, server: LoginServer): () => void {
    this.server = server;
    return super.addServer(name, server);
  }
}

test("a user's job is followed to its end when the user logs in again meanwhile", async () => {
  const begun = { taskId: "t1", status: "working", pollIntervalMs: 100, ttlMs: null, createdAt: "2026-01-01T00:00:00Z" };
  let state: object = begun;
  const { url } = await loopbackMcp({
    ...modern(),
    "tools/call": () => ({ ...begun, resultType: "task" }),
    "tasks/get": () => ({ resultType: "complete", ...state }),
  });
  const logins = new WatchedLogins();
  const engine = mcpEngine({ url, auth: { type: "user-login", logins } });
  onTestFinished(() => engine.close?.());
  const clock = new FakeClock();
  await engine.open?.(engineContext({ toolset: "tickets", clock }));
  const job = await engine.call(request("echo"), toolContext());
  if (!(job instanceof RemoteJob)) throw new Error("no job was returned");
  logins.server?.onLogin("local");
  await clock.advance(100);
  state = { ...begun, status: "completed", result: text("okay") };
  expect(await settled(clock, job.result)).toMatchObject({ content: [{ type: "text", text: "okay" }] });
});
