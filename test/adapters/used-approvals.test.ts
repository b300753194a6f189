/** Approvals in AI SDK's messages, which a program keeps and sends again. */
import { expect, onTestFinished, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../src/store/memory-store.ts";

/** Runtimes over one store, as processes that run one after the other. */
function wiping() {
  const wiped: unknown[] = [];
  const store = memoryStore();
  const tool: Tool = {
    name: "wipe",
    description: "Wipes.",
    inputSchema: { type: "object", properties: { disk: { type: "string" } }, required: ["disk"] },
    effects: { writes: ["disk"], destructive: true },
    execute: ({ disk }: { readonly disk: string }) => {
      wiped.push(disk);
      if (disk === "broken") throw new Error("the disk is broken");
      return "wiped";
    },
  };
  const runtimes: Runtime[] = [];
  const start = (): Runtime => {
    const runtime = createRuntime({ tools: [tool], store, maxAttempts: 1 });
    runtimes.push(runtime);
    return runtime;
  };
  onTestFinished(async () => void (await runtimes.at(-1)?.close())); // the others are processes that were killed
  return { wiped, start };
}

const approved = (...ids: readonly string[]) => ({
  toolCallId: "c0",
  messages: [
    { role: "assistant", content: ids.map((approvalId) => ({ type: "tool-approval-request", approvalId, toolCallId: "c0" })) },
    { role: "tool", content: ids.map((approvalId) => ({ type: "tool-approval-response", approvalId, approved: true })) },
  ],
});

async function wipe(runtime: Runtime, session: RuntimeSession, disk: string, options: ReturnType<typeof approved>): Promise<unknown> {
  return await toAiSdkTools(runtime, { session })["wipe"]?.execute({ disk }, options);
}

test.each(["sda", "broken"])(
  "an approval that a call has used (%s) counts for no further call once its session is resumed",
  async (disk) => {
    const { wiped, start } = wiping();
    const first = start();
    await wipe(first, await first.resume("s", { create: true }), disk, approved("a")).catch(() => undefined);
    const second = start();
    const session = await second.resume("s", { takeOver: true });
    await expect(wipe(second, session, disk, approved("a"))).rejects.toThrow("approval_required: ");
    expect(wiped).toEqual([disk]);
    await wipe(second, session, "sdb", approved("a", "b")); // another call of the same id, which was approved too
    await expect(wipe(second, session, "sdc", approved("a", "b"))).rejects.toThrow("approval_required: ");
    expect(wiped).toEqual([disk, "sdb"]);
  },
);

test("an approval that no call has used counts once its session is resumed", async () => {
  const { wiped, start } = wiping();
  const first = start();
  const refused = wipe(first, await first.resume("s", { create: true }), "sda", { toolCallId: "c0", messages: [] });
  await expect(refused).rejects.toThrow("approval_required: ");
  const second = start();
  await wipe(second, await second.resume("s", { takeOver: true }), "sda", approved("a"));
  expect(wiped).toEqual(["sda"]);
});

test("an approval that a call has used counts for no call of a fork", async () => {
  const { wiped, start } = wiping();
  const runtime = start();
  const session = await runtime.resume("s", { create: true });
  const before = session.fork();
  await wipe(runtime, session, "sda", approved("a"));
  await expect(wipe(runtime, session.fork(), "sda", approved("a"))).rejects.toThrow("approval_required: ");
  expect(wiped).toEqual(["sda"]);
  await wipe(runtime, before, "sdb", approved("a"));
  expect(wiped).toEqual(["sda", "sdb"]); // the fork was made before
});
