import { expect, test } from "vitest";
import type { ApprovalRule } from "../../src/core/store/approval-store.ts";
import { ApprovalGate } from "../../src/policy/approval/approval-gate.ts";
import { approvalDigest } from "../../src/policy/approval/approval-digest.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";

const gate = (never?: readonly string[]): ApprovalGate => new ApprovalGate(never === undefined ? {} : { never }, fakePorts());
const question = (path: string, sessionId = "s") => ({
  callId: "c",
  sessionId,
  turnId: "t",
  definition: "d",
  toolName: "files::delete",
  description: "Deletes.",
  input: { path },
  reason: "It destroys.",
  simulated: false,
  signal: new AbortController().signal,
});
const digest = approvalDigest({ toolName: "files::delete", input: { path: "/a" }, definition: "d" });
const code = async (approvals: ApprovalGate, path: string, sessionId?: string): Promise<string> =>
  (await approvals.ask(question(path, sessionId)))?.code ?? "allowed";

test("F1.50 a grant allows the call with its digest once, in its session", async () => {
  const approvals = gate();
  approvals.allowOnce("s", digest);
  expect([await code(approvals, "/b"), await code(approvals, "/a", "t"), await code(approvals, "/a"), await code(approvals, "/a")]).toEqual(
    ["approval_required", "approval_required", "allowed", "approval_required"],
  );
});

test("F1.50 a grant can be revoked, is dropped with its session, and two grants allow two calls", async () => {
  const approvals = gate();
  const takeBack = approvals.allowOnce("s", digest);
  takeBack();
  takeBack();
  expect(await code(approvals, "/a")).toBe("approval_required");
  approvals.allowOnce("s", digest);
  approvals.allowOnce("s", digest);
  expect([await code(approvals, "/a"), await code(approvals, "/a"), await code(approvals, "/a")]).toEqual([
    "allowed",
    "allowed",
    "approval_required",
  ]);
  approvals.allowOnce("s", digest);
  approvals.forget("s");
  expect(await code(approvals, "/a")).toBe("approval_required");
});

test("F1.50 revoking a grant twice does not revoke another grant", async () => {
  const approvals = gate();
  const takeBack = approvals.allowOnce("s", digest);
  approvals.allowOnce("s", digest);
  takeBack();
  takeBack();
  expect([await code(approvals, "/a"), await code(approvals, "/a")]).toEqual(["allowed", "approval_required"]);
});

test("F1.50 a tool allowed with allowAlways needs approval again once its definition changes", async () => {
  for (const kept of [false, true]) {
    const approvals = gate();
    approvals.allowAlways("s", "files::delete", { definition: "d" });
    if (kept) await approvals.whenSettled(); // the rule of the store answers from now on
    const changed = await approvals.ask({ ...question("/a"), callId: "c2", definition: "e" });
    expect([await code(approvals, "/a"), changed?.code]).toEqual(["allowed", "approval_required"]);
  }
});

test("F1.50 a tool allowed with allowAlways needs no further approval in its session", async () => {
  const approvals = gate();
  approvals.allowAlways("s", "files::delete");
  expect([await code(approvals, "/a"), await code(approvals, "/b"), await code(approvals, "/a", "t")]).toEqual([
    "allowed",
    "allowed",
    "approval_required",
  ]);
});

test("H01 the reason of a session's own rule comes before that of the settings, except for what may destroy", () => {
  const approvals = new ApprovalGate({ always: ["*"] }, fakePorts());
  approvals.setSessionRule("s", () => "Strangers were read.");
  expect([
    approvals.reasonFor("mail::send", false, { id: "s" }),
    approvals.reasonFor("mail::send", false, { id: "t" }),
    approvals.reasonFor("mail::send", true, { id: "s" }),
  ]).toEqual(["Strangers were read.", "The approval rules ask before mail::send runs.", "mail::send may destroy something."]);
});

test("H01 a session's own rule adds approvals until the session ends, but not for tools on the never list", () => {
  const approvals = gate(["mail::draft"]);
  approvals.setSessionRule("s", (name) => (name.startsWith("mail::") ? "Strangers were read." : undefined));
  const needed = (name: string, session?: { readonly id: string }): string | undefined => approvals.reasonFor(name, false, session);
  expect([
    needed("mail::send", { id: "s" }),
    needed("mail::send", { id: "t" }),
    needed("mail::send"),
    needed("files::read", { id: "s" }),
    needed("mail::draft", { id: "s" }),
  ]).toEqual(["Strangers were read.", undefined, undefined, undefined, undefined]);
  approvals.forget("s");
  expect(needed("mail::send", { id: "s" })).toBe(undefined);
});

test.each([
  ["allow-always", "allowed"],
  ["allow-input", "allowed"],
  ["deny", "approval_denied"],
] as const)("H01 the answer %s after the end of the session applies to its call only", async (answer, expected) => {
  const answered = Promise.withResolvers<typeof answer>();
  const approvals = new ApprovalGate({ approve: () => answered.promise }, fakePorts());
  const asking = code(approvals, "/a");
  await new Promise((resolve) => setImmediate(resolve));
  approvals.forget("s");
  answered.resolve(answer);
  expect([await asking, await approvals.rules()]).toEqual([expected, []]);
});

test.each([undefined, "files::*", { ask: true }])("a session rule that is %j is rejected with invalid_argument", (rule) => {
  const approvals = new ApprovalGate({}, fakePorts());
  expect(() => Reflect.apply(approvals.setSessionRule.bind(approvals), undefined, ["s", rule])).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("must be a function") }),
  );
});

test("a permission for a tool that is being stored is waited for when the approvals settle, as before a store is closed", async () => {
  const store = memoryStore();
  const written = Promise.withResolvers<void>();
  const slow = Object.assign(Object.create(store.approvals) as typeof store.approvals, {
    addRule: (rule: ApprovalRule) => written.promise.then(() => store.approvals.addRule(rule)),
  });
  const approvals = new ApprovalGate({}, fakePorts(), { approvals: slow, follow: (listener) => store.follow(listener) });
  approvals.allowAlways("s", "files::delete");
  let isSettled = false;
  const settled = approvals.whenSettled().then(() => (isSettled = true));
  await settle();
  expect(isSettled).toBe(false);
  written.resolve();
  await settled;
  expect(await store.approvals.rules({ now: 0, sessionId: "s" })).toMatchObject([{ pattern: "files::delete" }]);
});
