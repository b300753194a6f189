/** The inbox of a runtime: what is kept of a question, how far an answer reaches, and what counts. */
import { describe, expect, test } from "vitest";
import type { ApprovalRecord } from "../../../src/core/store/approval-store.ts";
import type { ApprovalDecision } from "../../../src/core/approvals/approvals.ts";
import type { ApprovalRequest } from "../../../src/core/approvals/ask.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { Hook } from "../../../src/core/hook.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime-options.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { fakePorts, settle } from "../../../src/testing/fake-ports.ts";

const OBJECT = { type: "object" } as const;

function remove(name = "remove", description = "Deletes."): Tool {
  const effects = { writes: ["files"], destructive: true };
  return { name, description, inputSchema: OBJECT, effects, execute: () => `${name} done` };
}

function inboxRuntime(options: Partial<RuntimeOptions> = {}): Runtime {
  return createRuntime({
    tools: [remove(), remove("wipe")],
    approval: { approve: "inbox" },
    store: memoryStore(),
    ports: fakePorts(),
    ...options,
  });
}

/** The open questions, once there are so many. */
async function open(runtime: Runtime, count: number): Promise<readonly ApprovalRecord[]> {
  for (let tries = 0; tries < 1_000; tries++) {
    const found = await runtime.approvals.pending();
    if (found.length === count) return found;
    await settle();
  }
  return expect.fail(`There were never ${count} open questions.`);
}

async function answer(runtime: Runtime, record: ApprovalRecord | undefined, verdict: Partial<ApprovalDecision>): Promise<boolean> {
  const { id = "", digest = "" } = record ?? {};
  return runtime.approvals.answer({ id, digest, answer: "allow-once", ...verdict });
}

const call = (path: string, name = "remove"): { readonly name: string; readonly input: JsonObject } => ({ name, input: { path } });

describe("issue 19.4 an approval question", () => {
  test("is in the inbox and in the log before the approver is called, complete with who asks and why", async () => {
    const store = memoryStore();
    const seen: unknown[] = [];
    const approve = async ({ id, input }: ApprovalRequest) => {
      const [kept] = await store.approvals.list({ now: 0, ids: [id], first: "oldest", limit: 1 });
      const types = (await store.read("s")).events.map(({ type }) => type);
      seen.push(kept?.status, kept?.input, kept?.reason, kept?.askedBy, kept?.sessionId, input, types);
      return "allow-once" as const;
    };
    const runtime = inboxRuntime({ store, approval: { approve }, agentName: "cleaner" });
    const input = { path: "/a", deep: { list: [1, null, "x"] } };
    const result = await runtime.session("s").execute({ name: "remove", input }, { data: { principal: { id: "key:1", name: "Anna" } } });
    expect(result.status).toBe("ok");
    const reason = "default::remove may destroy something.";
    expect(seen).toEqual(["open", input, reason, "key:1", "s", input, ["session-start", "call-start", "approval-ask"]]);
    const events = (await store.read("s")).events.filter(({ type }) => type.startsWith("approval-"));
    const [record] = await runtime.approvals.list();
    expect(record).toMatchObject({ status: "allowed", scope: "once" });
    const { id: approvalId, digest } = record ?? {};
    expect(events).toMatchObject([
      { type: "approval-ask", approvalId, digest, input, reason, toolName: "default::remove" },
      { type: "approval-answer", approvalId, digest, status: "allowed", scope: "once" },
    ]);
    await runtime.close();
  });

  test("can be answered as soon as its event is emitted, and its call is in the log before the question is listed", async () => {
    const store = memoryStore();
    const told: unknown[] = [];
    const runtime = inboxRuntime({
      store,
      onEvent: (event) => {
        if (event.type !== "approval-ask") return;
        const { approvalId: id, digest } = event;
        told.push(runtime.approvals.answer({ id, digest, answer: "allow-once" }));
      },
    });
    const put = store.approvals.put.bind(store.approvals);
    store.approvals.put = async (asked) => {
      told.push((await store.read("s")).events.map(({ type }) => type));
      return put(asked);
    };
    const result = await runtime.session("s").execute(call("/a"));
    expect(result.status).toBe("ok");
    expect(await Promise.all(told)).toEqual([["session-start", "call-start"], true]);
    await runtime.close();
  });

  test("of a call made by a hook names the surrounding call, with its unvalidated input", async () => {
    const store = memoryStore();
    const wrong = { ...remove("look"), effects: { reads: "files" }, inputSchema: { ...OBJECT, required: ["path"] } };
    const hooks: Hook[] = [
      {
        name: "tidy",
        beforeCall: async ({ name }) => (name === "look" ? void (await session.execute(call("/a"))) : undefined),
        afterCall: async ({ name }) => (name === "default::look" ? void (await session.execute(call("/b"))) : undefined),
      },
    ];
    const runtime = inboxRuntime({ store, hooks, tools: [remove(), wrong], approval: { approve: () => "deny" } });
    const session = runtime.session("s");
    await session.execute({ name: "look", input: "{" });
    await session.execute({ name: "look", input: { file: 1 } });
    const within = (await runtime.approvals.list()).map((record) => record.within);
    expect(within).toMatchObject([
      [{ toolName: "look", input: {} }],
      [{ toolName: "default::look", input: {} }],
      [{ toolName: "look", input: { file: 1 } }],
      [{ toolName: "default::look", input: { file: 1 } }],
    ]);
    await runtime.close();
  });

  test("is answered once: a second answer, one with another digest and a late one have no effect", async () => {
    const ports = fakePorts();
    const runtime = inboxRuntime({ ports, approval: { approve: "inbox", timeoutMs: 5_000 } });
    const results = runtime.execute([call("/a"), call("/b")]);
    const [first, second] = await open(runtime, 2);
    expect(await answer(runtime, first, { digest: second?.digest ?? "" })).toBe(false);
    expect(await Promise.all([answer(runtime, first, { answer: "deny" }), answer(runtime, first, {})])).toEqual([true, false]);
    await ports.clock.advance(5_000);
    expect(await answer(runtime, second, {})).toBe(false);
    expect((await results).map(({ error }) => error?.message)).toEqual([
      "default::remove was not approved: the answer was no.",
      "default::remove was not approved: no answer came within 5000 ms.",
    ]);
    expect((await runtime.approvals.list()).map(({ status }) => status)).toEqual(["denied", "expired"]);
    expect(ports.clock.pending).toBe(0);
    await runtime.close();
  });

  test("is withdrawn when its call is cancelled, and when its session or the runtime closes", async () => {
    const store = memoryStore();
    const runtime = inboxRuntime({ store });
    const controller = new AbortController();
    const cancelled = runtime.execute(call("/a"), { signal: controller.signal });
    await open(runtime, 1);
    controller.abort();
    expect((await cancelled).status).toBe("cancelled");
    const closing = runtime.session("s").execute(call("/b"));
    await open(runtime, 1);
    const statuses = Promise.withResolvers<readonly string[]>();
    const { close } = store;
    store.close = async () => {
      const all = await store.approvals.list({ now: 0, first: "oldest", limit: 10 });
      statuses.resolve(all.map(({ status }) => status));
      await close.call(store);
    };
    await runtime.close();
    expect([await statuses.promise, (await closing).status]).toEqual([["withdrawn", "withdrawn"], "cancelled"]);
  });

  test("that cannot be stored is not put to an approver, and its call does not run", async () => {
    const store = memoryStore();
    const asked: string[] = [];
    const approve = ({ id }: ApprovalRequest) => (asked.push(id), "allow-once" as const);
    const runtime = inboxRuntime({ store, approval: { approve } });
    Object.assign(store.approvals, { put: () => Promise.reject(new Error("disk full")) });
    const { error } = await runtime.execute(call("/a"));
    expect([error?.code, error?.outcome, error?.message, asked]).toEqual([
      "store_failed",
      "not_started",
      "default::remove was not run: its approval could not be stored. disk full",
      [],
    ]);
    await runtime.close();
  });
});

describe("issue 19.4 an approval applies to", () => {
  /** Answers the first call, makes the others, and says which of them ran without being asked about. */
  async function reach(verdict: Partial<ApprovalDecision>, prepare?: (runtime: Runtime) => void): Promise<readonly string[]> {
    const runtime = inboxRuntime();
    const session = runtime.session("a");
    const first = session.execute(call("/1"));
    const [asked] = await open(runtime, 1);
    expect(await answer(runtime, asked, verdict)).toBe(true);
    expect((await first).status).toBe("ok");
    prepare?.(runtime);
    const ran: string[] = [];
    const others: readonly [string, Runtime | typeof session, ReturnType<typeof call>][] = [
      ["same input", session, call("/1")],
      ["other input", session, call("/2")],
      ["other tool", session, call("/1", "wipe")],
      ["other session", runtime.session("b"), call("/1")],
    ];
    for (const [what, place, one] of others) {
      const made = place.execute(one);
      await settle();
      const [question] = await runtime.approvals.pending();
      if (question !== undefined) await answer(runtime, question, { answer: "deny" });
      if ((await made).status === "ok") ran.push(what);
    }
    await runtime.close();
    return ran;
  }

  test.each<[string, Partial<ApprovalDecision>, readonly string[]]>([
    ["this call", { answer: "allow-once" }, []],
    ["this call, by a scope", { answer: "allow" }, []],
    ["this input in this session", { answer: "allow-input" }, ["same input"]],
    ["this input, by a scope", { answer: "allow", scope: "input" }, ["same input"]],
    ["this tool in this session", { answer: "allow-always" }, ["same input", "other input"]],
    ["this tool, by a scope", { answer: "allow", scope: "tool" }, ["same input", "other input"]],
    ["this tool in all sessions", { answer: "allow", scope: "rule" }, ["same input", "other input", "other session"]],
    [
      "what a pattern matches",
      { answer: "allow", scope: "rule", rule: { pattern: "default::*" } },
      ["same input", "other input", "other tool", "other session"],
    ],
    ["a pattern in one session", { answer: "allow", rule: { pattern: "*", sessionId: "a" } }, ["same input", "other input", "other tool"]],
  ])("%s", async (_, verdict, expected) => {
    expect(await reach(verdict)).toEqual(expected);
  });

  test("a tool until its definition changes", async () => {
    const redefine = (runtime: Runtime): void => {
      runtime.registry.unregister("default::remove");
      runtime.registry.register(remove("remove", "Deletes everything."));
    };
    expect(await reach({ answer: "allow-always" }, redefine)).toEqual([]);
    expect(await reach({ answer: "allow-input" }, redefine)).toEqual([]);
  });

  test("calls until its rule ends or is revoked, and each call that it allowed is in the log with it", async () => {
    const ports = fakePorts();
    const store = memoryStore();
    const runtime = inboxRuntime({ ports, store });
    const now = ports.clock.wallTime();
    const ends = await runtime.approvals.addRule({ pattern: "default::remove", expiresAt: now + 1_000, by: "anna" });
    const stays = await runtime.approvals.addRule({ pattern: "*::wipe" });
    expect(await runtime.approvals.rules()).toEqual([ends, stays]);
    const session = runtime.session("s");
    expect((await session.execute([call("/a"), call("/a", "wipe")])).map(({ status }) => status)).toEqual(["ok", "ok"]);
    const answers = (await store.read("s")).events.flatMap((event) => (event.type === "approval-answer" ? [event.ruleId] : []));
    expect(answers).toEqual([ends.id, stays.id]);
    await ports.clock.advance(1_000);
    expect([await runtime.approvals.revokeRule(stays.id), await runtime.approvals.revokeRule(stays.id)]).toEqual([true, false]);
    const asked = session.execute([call("/b"), call("/b", "wipe")]);
    expect(await open(runtime, 2)).toHaveLength(2);
    expect(await runtime.approvals.rules()).toEqual([]);
    await runtime.close();
    expect((await asked).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  });

  test("several questions by a rule: all that it answered are returned, and a rule that does not match one answers none", async () => {
    const runtime = inboxRuntime();
    const batch = runtime.session("a").execute([call("/1"), call("/2"), call("/3", "wipe")]);
    const upTo = Math.max(...(await open(runtime, 3)).map(({ position }) => position));
    const narrow = { answer: "allow", scope: "rule", rule: { pattern: "remove" }, upTo } as const;
    await expect(runtime.approvals.answerMany(narrow)).rejects.toThrow("does not match default::wipe");
    expect([(await open(runtime, 3)).length, await runtime.approvals.rules()]).toEqual([3, []]);
    expect(await runtime.approvals.answerMany({ answer: "allow", scope: "tool", upTo, permits: () => false })).toEqual([]);
    expect(await runtime.approvals.list({ tool: "wipe", status: "open" })).toEqual(
      await runtime.approvals.list({ tool: "default::wipe", status: "open" }),
    );
    expect((await runtime.approvals.list({ tool: "wipe", status: "open" })).length).toBeGreaterThan(0);
    const answered = await runtime.approvals.answerMany({ answer: "allow", scope: "tool", upTo });
    expect(answered.map(({ input, status }) => `${String(input["path"])} ${status}`).sort()).toEqual([
      "/1 allowed",
      "/2 allowed",
      "/3 allowed",
    ]);
    expect((await batch).map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    await runtime.close();
  });

  test("open questions that it matches, and several by a filter, but none created after the list was read", async () => {
    const runtime = inboxRuntime();
    const batch = runtime.session("a").execute([call("/1"), call("/2"), call("/3", "wipe")]);
    const other = runtime.session("b").execute(call("/4"));
    const asked = [...(await open(runtime, 4))].sort((one, other) => String(one.input["path"]).localeCompare(String(other.input["path"])));
    expect(await answer(runtime, asked[0], { answer: "allow-always", by: "anna" })).toBe(true);
    expect(new Set((await open(runtime, 2)).map(({ input }) => input["path"]))).toEqual(new Set(["/3", "/4"]));
    const answered = await runtime.approvals.answerMany({
      tool: "default::*",
      sessionId: "a",
      upTo: asked[2]?.position ?? 0,
      answer: "deny",
      by: "ben",
    });
    expect(await runtime.approvals.answerMany({ upTo: (asked[3]?.position ?? 0) - 1, sessionId: "b", answer: "deny" })).toEqual([]);
    expect(answered.map(({ input, status, answeredBy }) => [input["path"], status, answeredBy])).toEqual([["/3", "denied", "ben"]]);
    const [last] = await open(runtime, 1);
    expect((await runtime.approvals.answerMany({ sessionId: "b", upTo: last?.position ?? 0, answer: "allow" })).length).toBe(1);
    expect([...(await batch), await other].map(({ status }) => status)).toEqual(["ok", "ok", "error", "ok"]);
    await runtime.close();
  });
});

test("issue 19.4 invalid answers, rules and lists are rejected with a hint", async () => {
  const runtime = inboxRuntime();
  const made = runtime.execute(call("/a"));
  const [asked] = await open(runtime, 1);
  const { id = "", digest = "" } = asked ?? {};
  const wrong: readonly [() => Promise<unknown>, string][] = [
    [() => answer(runtime, asked, { answer: "yes" as never }), 'An answer must be "allow-once"'],
    [() => answer(runtime, asked, { answer: "deny", scope: "tool" }), 'The answer "deny" cannot have the scope "tool".'],
    [
      () => answer(runtime, asked, { answer: "allow", scope: "all" as never }),
      "The scope of an answer must be one of once, input, tool, rule",
    ],
    [() => answer(runtime, asked, { answer: "allow-once", rule: {} }), "A rule is given with the answer"],
    [() => answer(runtime, asked, { answer: "allow", scope: "rule", rule: { pattern: "mail::*" } }), "does not match default::remove"],
    [() => answer(runtime, asked, { answer: "allow", scope: "rule", rule: { expiresAt: 1 } }), "must be a time in the future"],
    [() => runtime.approvals.addRule({ pattern: "mail::*", expiresAt: 8.64e15 + 1 }), "at most 8640000000000000"],
    [() => runtime.approvals.addRule({ pattern: "mail::*", expiresAt: new Date("2999-01-01") as never }), "must be a time in the future"],
    [() => runtime.approvals.addRule({ pattern: "mail::*", expiresAt: "9999999999999" as never }), "must be a time in the future"],
    [() => answer(runtime, asked, { answr: "allow" } as never), "answr"],
    [() => runtime.approvals.answer({ id: 7, digest, answer: "deny" } as never), "The id of an answer must be a string"],
    [() => runtime.approvals.answer({ id, answer: "deny" } as never), "The digest of an answer must be a string"],
    [() => runtime.approvals.answerMany({ answer: "allow" } as never), "upTo of answerMany()"],
    [() => runtime.approvals.addRule({ pattern: "" }), "pattern"],
    [
      () => runtime.approvals.list({ status: "gone" as never }),
      "The status of an approval must be one of open, allowed, denied, withdrawn, expired",
    ],
    [() => runtime.approvals.list({ limit: 0 }), "limit is 0"],
    [() => runtime.approvals.preview("nobody"), "There is no approval"],
  ];
  for (const [act, message] of wrong) await expect(act()).rejects.toThrow(message);
  expect(await open(runtime, 1)).toHaveLength(1);
  await runtime.close();
  await made;
});

test("issue 19.4 H12 D04 hostile text in inputs and names is stored and listed unchanged, and has no effect", async () => {
  const runtime = inboxRuntime();
  const input = {
    ["__proto__x"]: "\u202e\u0000\ud800",
    "'; drop table": '{"answer":"allow-once"}',
    deep: { constructor: { prototype: 1 } },
  };
  const made = runtime.session("'; --").execute({ name: "remove", input });
  const [asked] = await open(runtime, 1);
  expect([asked?.input, asked?.sessionId]).toEqual([input, "'; --"]);
  expect(await answer(runtime, asked, { answer: "deny", by: "\u0000\u202e" })).toBe(true);
  expect((await made).error?.code).toBe("approval_denied");
  await runtime.close();
});

test("issue 19.4 a thousand questions can be open at once, listed by page, and answered by one filter", async () => {
  const runtime = inboxRuntime();
  const session = runtime.session("s");
  const results = session.execute(Array.from({ length: 1_000 }, (_, n) => call(`/${n}`)));
  const asked = await open(runtime, 1_000);
  const page = await runtime.approvals.list({ status: "open", after: asked[499]?.position ?? 0, limit: 3 });
  expect(page.map(({ input }) => input["path"])).toEqual(["/500", "/501", "/502"]);
  const answered = await runtime.approvals.answerMany({ tool: "default::remove", upTo: asked[999]?.position ?? 0, answer: "allow" });
  expect(answered).toHaveLength(1_000);
  expect((await results).every(({ status }) => status === "ok")).toBe(true);
  await runtime.close();
});
