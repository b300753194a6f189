import { expect, test } from "vitest";
import type { Clock } from "../../src/core/ports.ts";
import { knownTools, serverStateOf } from "../../src/engine/known-tools.ts";
import { mcpPeerOf } from "../../src/engine/mcp/peer.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { engineContext, requestOf, toolContext } from "./engine-contexts.ts";
import { openStrange, strangeServerEngine } from "./mcp-engine.ts";
import { FakeMemory } from "./remembered-server.ts";

const IDLE_MS = 123_456;

/** The real clock, which processes need, except for the one timer that the test fires itself. */
function clockWithIdleTime(): { readonly clock: Clock; readonly passIdleTime: () => void } {
  let idle = (): void => undefined;
  const clock: Clock = {
    now: () => systemPorts.clock.now(),
    wallTime: () => systemPorts.clock.wallTime(),
    timer(fire, delayMs, options) {
      if (delayMs !== IDLE_MS) return systemPorts.clock.timer(fire, delayMs, options);
      idle = fire;
      return () => (idle = () => undefined);
    },
  };
  return { clock, passIdleTime: () => idle() };
}

test("F4.9 D10 a real server is known without a process, started by its first call, closed when idle, and started again", async () => {
  const memory = new FakeMemory();
  const { tools } = await openStrange();
  memory.lists.set("{}", tools);
  const { clock, passIdleTime } = clockWithIdleTime();
  const engine = knownTools(strangeServerEngine("good"), { memory, identity: {}, idleMs: IDLE_MS });
  const [tool] = (await engine.open?.(engineContext({ clock }))) ?? [];
  if (tool === undefined) throw new Error("the server lists no tool");
  const states = [serverStateOf(engine), mcpPeerOf(engine)?.identity];
  const outputs = [];
  try {
    for (let round = 0; round < 2; round++) {
      outputs.push(await engine.call(requestOf(tool), toolContext()));
      states.push(serverStateOf(engine));
      passIdleTime();
      states.push(serverStateOf(engine));
    }
  } finally {
    await engine.close?.();
  }
  expect([states, outputs[0] !== undefined, outputs[1]]).toEqual([
    ["known", undefined, "used", "known", "used", "known"],
    true,
    outputs[0],
  ]);
});
