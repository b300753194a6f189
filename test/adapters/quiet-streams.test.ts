/** A run in which nothing happens for long: proxies close a stream on which nothing comes. */
import { expect, onTestFinished, test, vi } from "vitest";
import { agUiHandler } from "../../src/adapters/ag-ui.ts";
import { uiChatHandler } from "../../src/adapters/ui-stream.ts";
import type { Clock } from "../../src/core/ports.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { gate } from "../runtime/bench-runtime.ts";
import { chatWorld } from "./chat-world.ts";

const BODIES = {
  "AI SDK": { id: "quiet", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hi." }] }] },
  "AG-UI": { threadId: "quiet", runId: "r1" },
};

test.each(["AI SDK", "AG-UI"] as const)(
  "a quiet stream for %s sends a comment every 15 seconds, but not before the previous one was read",
  async (client) => {
    const waiting = new Set<() => void>(); // the timers of 15 seconds that are set
    const { clock } = systemPorts;
    const watched: Clock = {
      now: () => clock.now(),
      wallTime: () => clock.wallTime(),
      timer(fire, delayMs, options) {
        if (delayMs !== 15_000) return clock.timer(fire, delayMs, options);
        const once = (): void => (waiting.delete(once), fire());
        waiting.add(once);
        return () => waiting.delete(once);
      },
    };
    const pass = (): void => {
      for (const fire of Array.from(waiting)) fire();
    };
    const { runtime, session } = chatWorld({ clock: watched });
    onTestFinished(async () => void (await runtime.close()));
    const waits = gate();
    const handler = (client === "AI SDK" ? uiChatHandler : agUiHandler)(runtime, { session, run: () => waits.promise });
    const response = await handler(new Request("http://agent/", { method: "POST", body: JSON.stringify(BODIES[client]) }));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toMatch(/^data: /u);
    await vi.waitFor(() => expect(waiting.size).toBe(1));
    pass();
    expect((await reader?.read())?.value).toBe(": keep-alive\n\n");
    for (let times = 0; times < 5; times++) pass();
    waits.open();
    let rest = "";
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) rest += part.value;
    expect(rest.match(/^:/gmu)?.length ?? 0).toBeLessThanOrEqual(3); // the stages of the pipe take one each
    expect(rest).toMatch(/"(?:finish|RUN_FINISHED)"/u);
    expect(waiting.size).toBe(0);
  },
);
