/** What a program may put in the place of a runtime's own locks, slots and approvals. */
import { expect, test } from "vitest";
import { ResourceLocks } from "../../src/policy/locks/resource-locks.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { LockTicket, Locks } from "../../src/core/resources/locks.ts";
import type { Tool } from "../../src/core/tool.ts";
import { ApprovalGate } from "../../src/policy/approval/approval-gate.ts";
import { Limits } from "../../src/policy/locks/limits.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime-options.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";

interface Gated {
  /** What has begun. */
  readonly began: readonly string[];
  readonly run: (name: string) => Promise<void>;
  readonly letGo: () => void;
  readonly tool: (name: string) => RuntimeOptions;
}

/** Calls that run until they are let go, the oldest first, and a tool that makes them. */
function gated(): Gated {
  const began: string[] = [];
  const waiting: (() => void)[] = [];
  const run = (name: string): Promise<void> => {
    began.push(name);
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    began,
    run,
    letGo: () => waiting.shift()?.(),
    tool: (name) => ({
      tools: [defineTool({ name: "write", description: "", effects: { writes: ["disk:/a"] }, execute: () => run(name) })],
    }),
  };
}

/** Locks as another machine may keep them: what is free is known only after a while. */
function farLocks(near: Locks = new ResourceLocks()): Locks {
  return {
    request(request): LockTicket {
      const ticket = near.request(request);
      let arrived = false;
      const arrival = new Promise<void>((resolve) => setImmediate(resolve)).then(() => void (arrived = true));
      return {
        get granted() {
          return arrived && ticket.granted;
        },
        whenGranted: () => arrival.then(() => ticket.whenGranted()),
        waitingFor: () => ticket.waitingFor(),
        release: () => ticket.release(),
      };
    },
  };
}

test.each([
  ["at once", new ResourceLocks()],
  ["after a while", farLocks()],
])("runtimes that share locks, granted %s, do not write the same key concurrently", async (_, locks) => {
  const { began, letGo, tool } = gated();
  await using one = createRuntime({ ...tool("one"), locks });
  await using other = createRuntime({ ...tool("other"), locks });
  const results = [one, other].map((runtime) => runtime.execute({ name: "write" }));
  await expect.poll(() => began).toEqual(["one"]);
  letGo();
  await expect.poll(() => began).toEqual(["one", "other"]);
  letGo();
  expect((await Promise.all(results)).map(({ status }) => status)).toEqual(["ok", "ok"]);
});

test("a call that cannot get its locks before its deadline ends with resource_busy, and leaves the queue", async () => {
  const ports = fakePorts();
  let left = 0;
  const never: LockTicket = { granted: false, whenGranted: () => new Promise(() => {}), waitingFor: () => [], release: () => void left++ };
  await using runtime = createRuntime({ ...gated().tool("one"), ports, locks: { request: () => never }, deadlineMs: 1_000 });
  const result = runtime.execute({ name: "write" });
  await ports.clock.advance(1_000);
  expect((await result).error?.code).toBe("resource_busy");
  expect(left).toBe(1);
});

test("runtimes that share slots share maxConcurrent of tools and toolsets", async () => {
  const slots = new Limits();
  const { began, letGo, run } = gated();
  const tool = (name: string, maxConcurrent: number): Tool =>
    defineTool({ name, description: "", maxConcurrent, effects: pure, execute: () => run(name) });
  const options = { maxConcurrent: 3, slots, toolsets: [{ name: "disk", maxConcurrent: 2, tools: [tool("a", 1), tool("b", 2)] }] };
  await using one = createRuntime(options);
  await using other = createRuntime(options);
  const results = [one, other, one, other].map((runtime, index) => runtime.execute({ name: index < 2 ? "disk::a" : "disk::b" }));
  await settle();
  expect(began).toEqual(["a", "b"]);
  for (const expected of [
    ["a", "b", "b"],
    ["a", "b", "b", "a"],
  ]) {
    letGo();
    await settle();
    expect(began).toEqual(expected);
  }
  for (const _ of results) letGo();
  expect((await Promise.all(results)).map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok"]);
});

test("runtimes that share approvals share their questions", async () => {
  const approvals = new ApprovalGate({ always: ["*"], approve: () => new Promise(() => {}) }, fakePorts());
  const tools = [defineTool({ name: "look", description: "Looks.", effects: pure, execute: () => "seen" })];
  await using one = createRuntime({ tools, approvals });
  await using other = createRuntime({ tools, approvals });
  const result = one.session("s").execute({ name: "look" });
  await settle();
  const [open] = await other.approvals.pending();
  expect(open).toMatchObject({ sessionId: "s", toolName: "default::look", input: {} });
  expect(await other.approvals.answer({ callId: open?.callId ?? "", digest: open?.digest ?? "", answer: "allow-once" })).toBe(true);
  expect((await result).output).toBe("seen");
});

test.each<[string, unknown, string]>([
  ["locks without request()", { locks: {} }, 'The option "locks" of createRuntime() has no request().'],
  ["slots without limit()", { slots: {} }, 'The option "slots" of createRuntime() has no limit().'],
  ["approvals that are none", { approvals: 1 }, 'The option "approvals" of createRuntime() has no reasonFor().'],
  [
    "rules besides approvals",
    { approval: {}, approvals: new ApprovalGate({}, fakePorts()) },
    'createRuntime() takes "approval" or "approvals", not both: "approvals" has rules of its own.',
  ],
])("%s are rejected at once", (_, options, message) => {
  const make = (): unknown => createRuntime(options as RuntimeOptions); // as a program without types may call it
  expect(make).toThrow(ToolError);
  expect(make).toThrow(message);
});

const boom = (): never => {
  throw new Error("The client is closed.");
};
const ticket = { granted: false, whenGranted: () => Promise.resolve(), waitingFor: () => [], release: () => {} };
const slot = { tryTake: () => false, wait: boom, release: () => {} };

test.each<[string, object, object]>([
  ["locks that throw when they are waited for", { locks: { request: () => ({ ...ticket, whenGranted: boom }) } }, { ran: 0 }],
  ["locks that throw when they say for what they wait", { locks: { request: () => ({ ...ticket, waitingFor: boom }) } }, { ran: 0 }],
  ["locks that throw when they are given back", { locks: { request: () => ({ ...ticket, granted: true, release: boom }) } }, { ran: 1 }],
  ["slots that throw when they are waited for", { slots: { limit: () => slot } }, { ran: 0 }],
  ["slots that throw when they are given back", { slots: { limit: () => ({ ...slot, tryTake: () => true, release: boom }) } }, { ran: 1 }],
])("a call has one result, even with %s", async (_what, options, expected) => {
  let ran = 0;
  const ports = fakePorts();
  const put = defineTool({ name: "put", description: "Puts.", effects: { writes: ["a"] }, maxConcurrent: 1, execute: () => ++ran });
  const runtime = createRuntime({ ...options, ports, tools: [put] });
  const { status, error } = await runtime.execute({ name: "put", input: {} });
  expect({ ran, status, code: error?.code, outcome: error?.outcome }).toEqual(
    ran === 1
      ? { ...expected, status: "ok", code: undefined, outcome: undefined }
      : { ...expected, status: "error", code: "unavailable", outcome: "not_started" },
  );
  expect(ports.log.lines.filter(({ message }) => message.includes("could not be released"))).toHaveLength(ran);
  await runtime.close();
});

const never = (): Promise<void> => new Promise(() => {});
const waiter = { taken: false, whenTaken: never, cancel() {} };

test.each<["locks" | "slots", (isLate: () => boolean) => object]>([
  ["locks", (isLate) => ({ request: () => ({ ...ticket, whenGranted: never, waitingFor: () => (isLate() ? boom() : ["other"]) }) })],
  [
    "slots",
    () => ({
      limit: () => ({
        ...slot,
        wait: () => waiter,
        get unreachable() {
          return boom();
        },
      }),
    }),
  ],
])("%s that throw at the deadline of a call that waits for them end the call, and not the process", async (what, make) => {
  const ports = fakePorts();
  let isLate = false;
  const put = defineTool({
    name: "put",
    description: "Puts.",
    effects: { writes: ["a"] },
    maxConcurrent: 1,
    deadlineMs: 1_000,
    execute: () => expect.fail("It has no locks or slots."),
  });
  const runtime = createRuntime({ [what]: make(() => isLate), ports, tools: [put] });
  const result = runtime.execute({ name: "put", input: {} });
  await settle();
  isLate = true;
  await ports.clock.advance(1_000);
  expect((await result).error).toMatchObject({
    code: "unavailable",
    outcome: "not_started",
    message: `default::put was not started: its ${what} failed: The client is closed.`,
  });
  await runtime.close();
});

const throwing = {
  locks: { request: () => ({ ...ticket, granted: true, release: boom }) },
  slots: { limit: () => ({ ...slot, tryTake: () => true, release: boom }) },
};

test.each([
  ["locks", "a read", { effects: { reads: ["a"] } }],
  ["locks", "a write", { effects: { writes: ["a"] } }],
  ["slots", "a read", { effects: { reads: [] }, maxConcurrent: 1 }],
] as const)("%s that throw on release leave %s that is abandoned its one result", async (what, _, more) => {
  for (const end of ["timeout", "cancelled"] as const)
    for (const endsLate of [true, false]) {
      const ports = fakePorts();
      const late = Promise.withResolvers<number>();
      const never = defineTool({ name: "never", description: "", ...more, timeoutMs: 1_000, maxAttempts: 1, execute: () => late.promise });
      const runtime = createRuntime({ [what]: throwing[what], ports, tools: [never] });
      const leaving = new AbortController();
      const result = runtime.execute({ name: "never", input: {} }, { signal: leaving.signal });
      await settle();
      if (end === "cancelled") leaving.abort();
      await ports.clock.advance(1_000);
      expect((await result).error?.code).toBe(end);
      if (endsLate) late.resolve(1);
      await ports.clock.advance(60_000); // it keeps them for a while
      expect(ports.log.lines.filter(({ message }) => message.includes("could not be released"))).toHaveLength(1);
    }
});

test.each([false, true])(
  "slots that throw on release while another is being taken can be taken again later (nested: %s)",
  async (nested) => {
    const ports = fakePorts();
    const held = { tool: 0, toolset: 0 };
    let isFree = false;
    const limit = (name: string): object => {
      const which = name.includes("put") ? "tool" : "toolset";
      return {
        tryTake: () => (which === "tool" || isFree) && ++held[which] > 0,
        wait: () => ({ whenTaken: async () => void held[which]++, cancel: () => {} }),
        release: () => --held[which] === 0 && boom(),
      };
    };
    const put = defineTool({ name: "put", description: "", effects: pure, maxConcurrent: 1, execute: () => "put" });
    const outer = defineTool({
      name: "outer",
      description: "",
      effects: pure,
      execute: (_, context) => context.execute({ name: "x::put" }),
    });
    const toolsets = [{ name: "x", tools: [put], maxConcurrent: 1 }];
    await using runtime = createRuntime({ slots: { limit }, ports, toolsets, tools: [outer] } as unknown as RuntimeOptions);
    const result = await runtime.execute({ name: nested ? "outer" : "x::put" });
    isFree = true;
    expect([result.status, held]).toEqual(["ok", { tool: 0, toolset: 0 }]);
    if (nested) expect(result.output).toMatchObject({ status: "ok" });
  },
);

test.each([false, true])("slots that throw while another is already taken give that one back (nested: %s)", async (nested) => {
  const held = { tool: 0, toolset: 0 };
  let isDown = true;
  const limit = (name: string): object => {
    const which = name.includes("put") ? "tool" : "toolset";
    return {
      tryTake: () => (which === "toolset" && isDown ? boom() : ++held[which] > 0),
      wait: () => ({ whenTaken: async () => void held[which]++, cancel: () => {} }),
      release: () => --held[which],
    };
  };
  const put = defineTool({ name: "put", description: "", effects: pure, maxConcurrent: 1, execute: () => "put" });
  const outer = defineTool({
    name: "outer",
    description: "",
    effects: pure,
    execute: async (_, context) => (await context.execute({ name: "x::put" })).status,
  });
  const toolsets = [{ name: "x", tools: [put], maxConcurrent: 1 }];
  await using runtime = createRuntime({ slots: { limit }, toolsets, tools: [outer] } as unknown as RuntimeOptions);
  const call = async (): Promise<unknown> => {
    const result = await runtime.execute({ name: nested ? "outer" : "x::put" });
    return nested ? result.output : result.status;
  };
  expect([await call(), held]).toEqual(["error", { tool: 0, toolset: 0 }]);
  isDown = false;
  expect([await call(), held]).toEqual(["ok", { tool: 0, toolset: 0 }]);
});

test("locks that throw when a nested call requests them do not keep the locks of its caller", async () => {
  const near = new ResourceLocks();
  const locks: Locks = { request: (request) => (request.writes.includes("b") ? boom() : near.request(request)) };
  const inner = defineTool({ name: "inner", description: "", effects: { writes: ["a", "b"] }, execute: () => "written" });
  const outer = defineTool({
    name: "outer",
    description: "",
    effects: { writes: ["a"] },
    execute: async (_, context) => (await context.execute({ name: "default::inner" })).error?.outcome,
  });
  await using runtime = createRuntime({ locks, tools: [inner, outer] });
  expect((await runtime.execute({ name: "outer" })).output).toBe("not_started");
  expect(near.request({ owner: "later", reads: [], writes: ["a"], commutative: false }).granted).toBe(true);
});

test("locks that throw on release do not leave other locks of a nested call taken", async () => {
  const ports = fakePorts();
  const near = new ResourceLocks();
  const locks: Locks = {
    request: (request) => {
      const taken = near.request(request);
      return {
        get granted() {
          return taken.granted;
        },
        whenGranted: () => taken.whenGranted(),
        waitingFor: () => taken.waitingFor(),
        release() {
          taken.release();
          boom();
        },
      };
    },
  };
  const never = { effects: { writes: ["b", "a"] }, timeoutMs: 1_000, maxAttempts: 1 };
  const inner = defineTool({ name: "inner", description: "", ...never, execute: () => new Promise(() => {}) });
  const outer = defineTool({
    name: "outer",
    description: "",
    effects: { writes: ["a"] },
    execute: async (_, context) => (await context.execute({ name: "default::inner" })).status,
  });
  await using runtime = createRuntime({ locks, ports, tools: [inner, outer] });
  const result = runtime.execute({ name: "outer" });
  await settle();
  await ports.clock.advance(1_000);
  expect((await result).output).toBe("error");
  await ports.clock.advance(60_000); // the abandoned one holds them for a while
  expect(near.request({ owner: "later", reads: [], writes: ["a", "b"], commutative: false }).granted).toBe(true);
});

test.each(["locks", "slots"] as const)("custom %s whose promise rejects prevent the call from running", async (what) => {
  const lost = (): Promise<never> => Promise.reject(new Error("The connection was lost."));
  let ran = 0;
  let released = 0;
  const release = (): void => void released++;
  const waiting = { granted: false, taken: false, whenGranted: lost, whenTaken: lost, waitingFor: () => [], release, cancel: release };
  const limit = { tryTake: () => false, wait: () => waiting, release: () => expect.fail("no slot was taken") };
  const runtime = createRuntime({
    ...(what === "locks" ? { locks: { request: () => waiting } } : { slots: { limit: () => limit } }),
    tools: [
      defineTool({
        name: "put",
        description: "Puts.",
        inputSchema: { type: "object" },
        effects: { writes: ["a"] },
        maxConcurrent: 1,
        execute: () => ++ran,
      }),
    ],
  });
  const { error } = await runtime.execute({ name: "put", input: {} });
  expect([error?.code, error?.outcome, error?.message, ran, released]).toEqual([
    "unavailable",
    "not_started",
    `default::put was not started: its ${what} failed: The connection was lost.`,
    0,
    1,
  ]);
  await runtime.close();
});
