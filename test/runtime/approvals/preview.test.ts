/** What a call would change is simulated before it is approved: nothing is done for real. */
import { expect, test } from "vitest";
import type { ApprovalPreview } from "../../../src/core/approvals/approval-preview.ts";
import type { ApprovalRequest } from "../../../src/core/approvals/ask.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { exampleEngine } from "../../../src/engine/example.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime-options.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { fakePorts, settle } from "../../../src/testing/fake-ports.ts";
import { StoredApprovals } from "../../../src/policy/approval/stored-approvals.ts";

const INPUT = { type: "object" } as const;

const add: Tool = {
  name: "add",
  description: "Puts something into the cart.",
  inputSchema: INPUT,
  effects: { writes: ["session:cart"] },
  execute: ({ item }, { state }) => state.update("cart", (cart) => [...(Array.isArray(cart) ? cart : []), item ?? null]),
};
const empty: Tool = {
  name: "empty",
  description: "Empties the cart.",
  inputSchema: INPUT,
  effects: { writes: ["session:cart"] },
  execute: (_input, { state }) => {
    state.update("cart", () => []);
    return "empty now";
  },
};

const ALWAYS = ["peek", "inner", "empty", "outer", "slow", "large"].map((name) => `default::${name}`);

/** Asks for the preview of each call, then allows it. */
function previewing(tools: readonly Tool[], options: Partial<RuntimeOptions> = {}) {
  const previews: (ApprovalPreview | undefined)[] = [];
  const approve = async ({ preview }: ApprovalRequest) => {
    previews.push(await preview?.());
    return "allow-once" as const;
  };
  const runtime = createRuntime({ tools, approval: { approve, always: ALWAYS }, ...options });
  return { runtime, previews };
}

test("issue 19.4 the preview shows the state that a call would change as it is now, during a turn, and does not change it", async () => {
  const { runtime, previews } = previewing([add, empty]);
  const session = runtime.session("s");
  await session.execute({ name: "add", input: { item: "tea" } });
  await session.turn(async () => {
    await session.execute({ name: "add", input: { item: "milk" } });
    const { length } = session;
    const emptied = session.execute({ name: "empty", input: {} });
    await emptied;
    expect(session.length).toBeGreaterThan(length);
  });
  expect(previews).toEqual([
    {
      available: true,
      state: [{ toolset: "default", key: "cart", before: ["tea", "milk"], after: [], patch: expect.any(Array) }],
      calls: [],
      writes: [],
      answer: "empty now",
    },
  ]);
  expect(session.log.filter(({ type }) => type === "state-change")).toHaveLength(3);
  await runtime.close();
});

test("issue 19.4 a generated example shows the write that would happen, without its made-up answer", async () => {
  const wipe: Tool = {
    name: "outer",
    description: "Wipes the disk.",
    inputSchema: INPUT,
    effects: { writes: ["disk"], destructive: true },
    execute: () => "wiped",
  };
  const { runtime, previews } = previewing([wipe], { standIn: exampleEngine() });
  await runtime.session().execute({ name: "outer" });
  expect(previews).toEqual([{ available: true, state: [], calls: [], writes: ["disk"] }]);
  await runtime.close();
});

test("issue 19.4 nothing real runs: a write without a simulation, and a read that needs approval, explain the missing preview", async () => {
  const ran: string[] = [];
  const wipe: Tool = {
    name: "wipe",
    description: "Wipes the disk.",
    inputSchema: INPUT,
    effects: { writes: ["disk"], destructive: true },
    execute: () => ran.push("wipe"),
  };
  const peek: Tool = {
    name: "peek",
    description: "Reads mail.",
    inputSchema: INPUT,
    effects: { reads: ["mail"], writes: [] },
    execute: () => ran.push("peek"),
  };
  const { runtime, previews } = previewing([wipe, peek]);
  for (const name of ["wipe", "peek"]) await runtime.execute({ name });
  expect(previews).toEqual([
    { available: false, reason: "default::wipe was not run: it would write disk, and this is a simulation." },
    { available: false, reason: "default::peek only reads, so it changes nothing; a simulation would make the call" },
  ]);
  expect(ran).toEqual(["wipe", "peek"]); // once each, when they were allowed
  await runtime.close();
});

test("issue 19.4 issue 18 a composite call is previewed with its nested calls, except those that need their own approval", async () => {
  const inner: Tool = {
    name: "inner",
    description: "Reads.",
    inputSchema: INPUT,
    effects: { reads: ["mail"], writes: [] },
    execute: () => "read",
  };
  const outer: Tool = {
    name: "outer",
    description: "Does both.",
    inputSchema: INPUT,
    composite: true,
    execute: async (_input, { execute }) => {
      await execute({ name: "add", input: { item: "tea" } });
      await execute({ name: "inner", input: {} });
      return "both";
    },
  };
  const { runtime, previews } = previewing([add, inner, outer]);
  expect((await runtime.session("s").execute({ name: "outer", input: {} })).status).toBe("ok");
  expect(previews[0]).toMatchObject({
    available: true,
    state: [{ key: "cart", after: ["tea"] }],
    calls: [
      { toolName: "default::add", input: { item: "tea" }, outcome: "ok" },
      { toolName: "default::inner", outcome: "approval_required" },
    ],
  });
  await runtime.close();
});

test("issue 19.4 a preview makes no nested call that the rules of the caller deny", async () => {
  const reads: string[] = [];
  const read = (name: string): Tool => ({
    name,
    description: "Reads.",
    inputSchema: INPUT,
    effects: { reads: ["mail"], writes: [] },
    execute: () => void reads.push(name),
  });
  const outer: Tool = {
    name: "outer",
    description: "Does both.",
    inputSchema: INPUT,
    composite: true,
    execute: async (_input, { execute }) => {
      await execute({ name: "secret", input: {} });
      await execute({ name: "open", input: {} });
    },
  };
  const tools = [read("secret"), read("open"), outer];
  for (const isInSession of [true, false]) {
    const { runtime, previews } = previewing(tools);
    const options = { allow: { deny: ["default::secret"] } };
    await (isInSession ? runtime.session() : runtime).execute({ name: "outer" }, options);
    expect(previews[0]).toMatchObject({
      calls: [
        { toolName: "secret", outcome: "permission_denied" },
        { toolName: "default::open", outcome: "ok" },
      ],
    });
    await runtime.close();
  }
  expect(reads).toEqual(Array.from({ length: 4 }, () => "open"));
});

test("issue 19.4 a preview is bounded: a slow one reports its timeout, and a large one is truncated", async () => {
  const ports = fakePorts();
  const slow: Tool = { ...empty, name: "slow", execute: () => new Promise(() => {}), timeoutMs: 0 };
  const late = Promise.withResolvers<ApprovalPreview | undefined>();
  const approve = async ({ preview }: ApprovalRequest) => {
    late.resolve(await preview?.());
    return "deny" as const;
  };
  const slowly = createRuntime({ tools: [slow], approval: { approve, always: ALWAYS }, ports });
  const denied = slowly.session("s").execute({ name: "slow" });
  await settle();
  await ports.clock.advance(5_000);
  expect(await late.promise).toEqual({ available: false, reason: "the simulation took longer than 5 s" });
  await denied;
  await slowly.close();
  const large: Tool = {
    ...empty,
    name: "large",
    execute: (_input, { state }) => {
      for (let n = 0; n < 100; n++) state.update(`key ${n}`, () => "x".repeat(10_000));
      return "y".repeat(60_000);
    },
  };
  const { runtime, previews } = previewing([large], { maxResultBytes: 0 });
  await runtime.session("s").execute({ name: "large" });
  expect(Buffer.byteLength(JSON.stringify(previews[0]))).toBeLessThanOrEqual(64 * 1024);
  expect(previews[0]).toMatchObject({ available: true, isCut: true });
  await runtime.close();
});

test("issue 19.4 another process gets the preview from the process that waits, or an explanation if none waits", async () => {
  const ports = fakePorts();
  const store = memoryStore();
  const runtime: Runtime = createRuntime({ tools: [empty], approval: { approve: "inbox", always: ALWAYS }, store, ports });
  const made = runtime.session("s").execute({ name: "empty" });
  await settle();
  const inbox = new StoredApprovals({ store: store.approvals, ports });
  const [open] = await inbox.list({ status: "open" });
  const preview = inbox.preview(open?.id ?? "");
  for (let looks = 0; looks < 10; looks++) await ports.clock.advance(200);
  expect(await preview).toMatchObject({ available: true, answer: "empty now" });
  await inbox.answer({ id: open?.id ?? "", digest: open?.digest ?? "", answer: "deny" });
  await ports.clock.advance(500);
  expect((await made).error?.code).toBe("approval_denied");
  const left = { ...open, id: "left", status: "denied", position: 9 };
  await store.approvals.put({ ...left, id: "left" } as never);
  await store.approvals.end({ id: "left", digest: open?.digest ?? "", status: "denied", at: 0 });
  expect(await inbox.preview("left")).toEqual({ available: false, reason: "the question is denied" });
  await runtime.close();
});

test("another process gets the preview of one question after that of another", async () => {
  const ports = fakePorts();
  const store = memoryStore();
  const runtime: Runtime = createRuntime({ tools: [empty], approval: { approve: "inbox", always: ALWAYS }, store, ports });
  const made = ["s", "t"].map((id) => runtime.session(id).execute({ name: "empty" }));
  await settle();
  const inbox = new StoredApprovals({ store: store.approvals, ports });
  const open = await inbox.list({ status: "open" });
  const seen: unknown[] = [];
  for (const { id } of open) {
    const preview = inbox.preview(id);
    for (let looks = 0; looks < 10; looks++) await ports.clock.advance(200);
    const one = await Promise.race([preview, settle()]);
    seen.push(one?.available);
  }
  expect(seen).toEqual([true, true]);
  for (const { id, digest } of open) await inbox.answer({ id, digest, answer: "deny" });
  await ports.clock.advance(500);
  expect((await Promise.all(made)).map(({ error }) => error?.code)).toEqual(["approval_denied", "approval_denied"]);
  await runtime.close();
});
