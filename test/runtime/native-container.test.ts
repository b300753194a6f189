/** The container of a provider's message: what is recorded of it can be read again. */
import { expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";

const native = (container: string): { format: string; blocks: []; container: string } => ({
  format: "anthropic-messages",
  blocks: [],
  container,
});

function newRuntime(): ReturnType<typeof createRuntime> {
  const runtime = createRuntime();
  onTestFinished(async () => void (await runtime.close()));
  return runtime;
}

test("a container with an empty or too long id is rejected", async () => {
  const session = newRuntime().session();
  for (const container of ["", "c".repeat(1_025)])
    await expect(
      session.turn(async (turn) => turn.addMessage({ role: "assistant", content: "Hi.", native: native(container) })),
    ).rejects.toMatchObject({ code: "invalid_argument" });
  expect(session.log).toEqual([]);
});

test("a session with a container is restored from its snapshot", async () => {
  const session = newRuntime().session();
  await session.turn(async (turn) => turn.addMessage({ role: "assistant", content: "Hi.", native: native("c".repeat(1_024)) }));
  const snapshot: unknown = JSON.parse(JSON.stringify(await session.snapshot()));
  const resumed = newRuntime().session("again", { from: snapshot as Awaited<ReturnType<typeof session.snapshot>> });
  expect(resumed.messages()).toMatchObject([{ native: { container: "c".repeat(1_024) } }]);
});

test.each([
  [1_024, true],
  [1_025, false],
  [0, false],
])("a reply's container id of %i characters is kept only if it is valid", (length, isKept) => {
  const id = "c".repeat(length);
  const reply = anthropicMessages().decodeReply({
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hi." }],
    stop_reason: "end_turn",
    container: { id, expires_at: "2026-12-01T00:00:00Z" },
  });
  expect([reply.text, reply.native?.container]).toEqual(["Hi.", isKept ? id : undefined]);
});
