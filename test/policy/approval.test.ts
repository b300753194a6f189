import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ApprovalQuestion } from "../../src/core/approvals/approvals.ts";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../../src/core/approvals/ask.ts";
import { ToolError, type ErrorInfo } from "../../src/core/error.ts";
import type { Store } from "../../src/core/store/store.ts";
import { ApprovalGate, type ApprovalSettings } from "../../src/policy/approval/approval-gate.ts";
import { StoredApprovals } from "../../src/policy/approval/stored-approvals.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { approvalsContract } from "../../src/testing/approvals-contract.ts";
import { fakePorts, settle, type FakePorts } from "../../src/testing/fake-ports.ts";

const HINT = "Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.";

function question(fields: Partial<ApprovalQuestion> = {}): ApprovalQuestion {
  return {
    callId: "call_1",
    sessionId: "session_1",
    turnId: "turn_1",
    definition: "d",
    toolName: "files::delete",
    description: "Deletes a file.",
    input: { path: "/a" },
    simulated: false,
    reason: "files::delete may destroy something.",
    signal: new AbortController().signal,
    ...fields,
  };
}

function gate(settings: ApprovalSettings, ports: FakePorts = fakePorts()): ApprovalGate {
  return new ApprovalGate(settings, ports);
}

test.each(approvalsContract)("the in-process approvals pass the contract: $title", async ({ run }) => {
  await run((approve) => gate(approve === undefined ? {} : { approve }));
});

/** An approver that answers when the test says so. */
function patientApprover(): { approve: Approver; requests: ApprovalRequest[]; answer: (index: number, answer: ApprovalAnswer) => void } {
  const requests: ApprovalRequest[] = [];
  const answers: ((answer: ApprovalAnswer) => void)[] = [];
  return {
    requests,
    approve: (request) => {
      requests.push(request);
      return new Promise((resolve) => answers.push(resolve));
    },
    answer: (index, answer) => answers[index]?.(answer),
  };
}

function busDown(): never {
  throw new Error("bus down");
}

async function denial(approve: unknown): Promise<ErrorInfo | undefined> {
  const error = await gate({ approve: approve as Approver }).ask(question()); // approvers as programs without types write them
  return error?.toJSON();
}

function denied(why: string): ErrorInfo {
  return {
    code: "approval_denied",
    message: `files::delete was not approved: ${why}.`,
    retryable: false,
    outcome: "not_started",
    hint: HINT,
  };
}

test("a question that could not be written to its session's log is withdrawn", async () => {
  const approvals = gate({ approve: "inbox" });
  const note: ApprovalQuestion["onChange"] = ({ type }) =>
    type === "ask" ? Promise.reject(new ToolError("store_failed", "The disk is full.")) : undefined;
  expect((await approvals.ask(question({ onChange: note })))?.code).toBe("store_failed");
  await approvals.whenSettled();
  expect((await approvals.list()).map(({ status }) => status)).toEqual(["withdrawn"]);
});

describe("a question in a store:", () => {
  /** A gate, an inbox elsewhere over the same store, and the ends of what is asked. */
  function shared(settings: ApprovalSettings, overrides: Partial<Store["approvals"]> = {}) {
    const store = memoryStore();
    const ports = fakePorts();
    const approvals = new ApprovalGate(settings, ports, { approvals: { ...store.approvals, ...overrides }, follow: store.follow });
    return { store, ports, approvals, elsewhere: new StoredApprovals({ store: store.approvals, ports }) };
  }

  test("an answer to another input, asked by another process under the same id, does not decide the first question", async () => {
    const { store, ports, approvals, elsewhere } = shared({ approve: "inbox" });
    const ends: unknown[] = [];
    void approvals.ask(question()).then((end) => ends.push(end));
    await settle();
    const other = new ApprovalGate({ approve: "inbox" }, ports, store);
    const allowed = other.ask(question({ input: { path: "/b" } }));
    await settle();
    const [open] = await elsewhere.list();
    expect(open?.input).toEqual({ path: "/b" });
    await elsewhere.answer({ id: open?.id ?? "", digest: open?.digest ?? "", answer: "allow-once" });
    await ports.clock.advance(5_000);
    expect([await allowed, ends]).toEqual([undefined, []]);
  });

  test("the first answer counts, even if the approver of its own process answers differently later", async () => {
    const { approve, answer } = patientApprover();
    const { approvals, elsewhere } = shared({ approve });
    const end = approvals.ask(question());
    await settle();
    const [open] = await elsewhere.list();
    await elsewhere.answer({ id: open?.id ?? "", digest: open?.digest ?? "", answer: "deny" });
    answer(0, "allow-once");
    expect((await end)?.code).toBe("approval_denied");
  });

  test("an approval that cannot be stored is a denial", async () => {
    const { approvals } = shared({ approve: () => "allow-once" }, { end: () => Promise.reject(new Error("The disk is full.")) });
    expect((await approvals.ask(question()))?.toJSON()).toEqual(denied("the answer could not be stored: The disk is full"));
  });

  test("allow-always after the end of its session leaves no rule for a later session with the same id", async () => {
    const { approve, answer } = patientApprover();
    const { approvals, store, ports } = shared({ approve });
    const end = approvals.ask(question());
    await settle();
    approvals.forget("session_1");
    answer(0, "allow-always");
    expect(await end).toBeUndefined();
    expect(await store.approvals.rules({ now: ports.clock.wallTime() })).toEqual([]);
  });
});

test("an answer from another process does not wait for previews in progress", async () => {
  const store = memoryStore();
  const ports = fakePorts();
  const approvals = new ApprovalGate({ approve: "inbox" }, ports, store);
  const elsewhere = new StoredApprovals({ store: store.approvals, ports });
  const ends: unknown[] = [];
  for (const asked of [question({ preview: () => new Promise(() => {}) }), question({ callId: "call_2" })])
    void approvals.ask(asked).then((end) => ends.push(end));
  await settle();
  const [first, second] = await elsewhere.list();
  void elsewhere.preview(first?.id ?? "");
  await ports.clock.advance(1_000); // it is being made
  for (const { id = "", digest = "" } of [{ ...first }, { ...second }]) await elsewhere.answer({ id, digest, answer: "allow-once" });
  await ports.clock.advance(1_000);
  expect(ends).toEqual([undefined, undefined]);
});

test("a failed preview does not stop other previews", async () => {
  const store = memoryStore();
  const ports = fakePorts();
  const approvals = new ApprovalGate({ approve: "inbox" }, ports, store);
  const elsewhere = new StoredApprovals({ store: store.approvals, ports });
  const failing = { preview: () => Promise.reject(new Error("It has no state.")) };
  const other = { preview: () => Promise.resolve({ available: false, reason: "it only reads" } as const) };
  for (const [callId, made] of Object.entries({ call_1: failing, call_2: other })) void approvals.ask(question({ callId, ...made }));
  await settle();
  const previews = (await elsewhere.list({ first: "oldest" })).map(({ id }) => elsewhere.preview(id));
  for (let ms = 0; ms < 20_000; ms += 200) await ports.clock.advance(200);
  expect(await Promise.all(previews)).toEqual([
    expect.objectContaining({ available: false }),
    { available: false, reason: "it only reads" },
  ]);
  expect(ports.log.lines.some(({ level, message }) => level === "debug" && message.includes("It has no state."))).toBe(true);
});

describe("F1.50 a call is denied when", () => {
  test("the approver answers deny", async () => {
    expect(await denial(() => "deny")).toEqual(denied("the answer was no"));
  });

  test.each<[unknown, string]>([
    ["yes", '"yes"'],
    [true, "of type boolean"],
    [undefined, "of type undefined"],
    [null, "of type null"],
    [{ answer: "allow-once" }, "of type object"],
  ])("the approver answers %j", async (answer, shown) => {
    expect(await denial(() => answer)).toEqual(
      denied(`the answer ${shown} is not one of "allow-once", "allow-input", "allow-always" and "deny"`),
    );
  });

  test("the approver throws a value that cannot be read, such as a revoked proxy", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(await denial(() => Promise.reject(proxy as Error))).toEqual(denied("the approver failed: threw a value that cannot be read"));
  });

  test("the approver throws, rejects, returns a broken promise or is not a function", async () => {
    const broken = {
      get then() {
        throw new Error("trap");
      },
    };
    expect(await denial(busDown)).toEqual(denied("the approver failed: bus down"));
    expect(await denial(() => Promise.reject(new Error("bus down")))).toEqual(denied("the approver failed: bus down"));
    expect(await denial(() => broken)).toEqual(denied("the approver failed: trap"));
    expect((await denial("yes"))?.code).toBe("approval_denied");
  });

  test("but not when the approver throws approval_required: then the call needs approval, as without an approver", async () => {
    const ports = fakePorts();
    const approve = () => Promise.reject(new ToolError("approval_required", "the terminal is closed"));
    const error = await gate({ approve }, ports).ask(question());
    expect(error).toMatchObject({
      code: "approval_required",
      message: "files::delete needs approval, and the terminal is closed. files::delete may destroy something.",
    });
    expect(error?.hint).toBe((await gate({}).ask(question()))?.hint);
    expect(ports.log.lines).toEqual([]);
  });

  test("and an approver's reason that is a full sentence is its own sentence in the message", async () => {
    const approve = () => Promise.reject(new ToolError("approval_required", "It is more than 100 euros."));
    const error = await gate({ approve }).ask(question());
    expect(error?.message).toBe("files::delete needs approval. It is more than 100 euros. files::delete may destroy something.");
  });

  test("no answer comes in time; the request's signal aborts and a late answer has no effect", async () => {
    const ports = fakePorts();
    const { approve, requests, answer } = patientApprover();
    const approvals = gate({ approve, timeoutMs: 5_000 }, ports);
    const asked = approvals.ask(question());
    await settle();
    await ports.clock.advance(5_000);
    expect((await asked)?.toJSON()).toEqual(denied("no answer came within 5000 ms"));
    expect(requests[0]?.signal.aborted).toBe(true);
    answer(0, "allow-always");
    await settle();
    void approvals.ask(question());
    await settle();
    expect(requests).toHaveLength(2);
  });
});

test("F1.50 a failed approver is logged as a warning", async () => {
  const ports = fakePorts();
  await gate({ approve: busDown }, ports).ask(question());
  expect(ports.log.lines).toEqual([
    { level: "warn", message: "The approver failed on files::delete: bus down", fields: { callId: "call_1" } },
  ]);
});

test("F1.50 without an approver the call needs approval, and only the operator's hint says how to allow it", async () => {
  expect((await gate({}).ask(question()))?.toJSON()).toEqual({
    code: "approval_required",
    message: "files::delete needs approval, and no approver is configured. files::delete may destroy something.",
    retryable: false,
    outcome: "not_started",
    hint: "A person must approve this call, and none can be asked here. Continue without it, or tell the user what it would do and that it needs approval.",
    operatorHint:
      'Run it where a person can be asked, or allow it beforehand: "never" of [approval] in the configuration file, --yes on the command line, approval: { approve } or { never } in code.',
  });
});

test("a question that another process asks again, and that expires there, also ends in the first process", async () => {
  const [ports, store] = [fakePorts(), memoryStore()];
  const [first, second] = [0, 5_000].map((timeoutMs) => new ApprovalGate({ approve: "inbox", timeoutMs }, ports, store));
  const asked = first?.ask(question());
  await settle();
  const again = second?.ask(question());
  await settle();
  await ports.clock.advance(6_000);
  const ended = await Promise.all([asked, again]);
  expect(ended.map((error) => error?.message)).toEqual([
    "files::delete was not approved: no answer came in time.",
    "files::delete was not approved: no answer came within 5000 ms.",
  ]);
  expect((await store.approvals.list({ now: 0, first: "oldest", limit: 9 })).map(({ status }) => status)).toEqual(["expired"]);
  expect(ports.clock.pending).toBe(0);
});

test("F1.50 allow-once allows this call only and leaves no timer", async () => {
  const ports = fakePorts();
  let asked = 0;
  const approve = (): ApprovalAnswer => {
    asked++;
    return "allow-once";
  };
  const approvals = gate({ approve, timeoutMs: 5_000 }, ports);
  expect([await approvals.ask(question()), await approvals.ask(question())]).toEqual([undefined, undefined]);
  expect({ asked, timers: ports.clock.pending }).toEqual({ asked: 2, timers: 0 });
});

test("F1.50 allow-always holds for this tool in this session until the session is dropped", async () => {
  const asked: string[] = [];
  const approve = ({ sessionId, toolName }: ApprovalRequest): ApprovalAnswer => {
    asked.push(`${sessionId} ${toolName}`);
    return "allow-always";
  };
  const approvals = gate({ approve });
  await approvals.ask(question());
  await approvals.ask(question({ input: { path: "/b" } }));
  await approvals.ask(question({ toolName: "files::move" }));
  await approvals.ask(question({ sessionId: "session_2" }));
  approvals.forget("session_1");
  await approvals.ask(question());
  expect(asked).toEqual(["session_1 files::delete", "session_1 files::move", "session_2 files::delete", "session_1 files::delete"]);
});

test("F1.50 allow-always also answers the open questions about the same tool and session, and aborts their requests", async () => {
  const { approve, requests, answer } = patientApprover();
  const approvals = gate({ approve });
  const first = approvals.ask(question({ callId: "call_1" }));
  const sibling = approvals.ask(question({ callId: "call_2", input: { path: "/b" } }));
  let otherEnded = false;
  void approvals.ask(question({ callId: "call_3", toolName: "files::move" })).then(() => (otherEnded = true));
  await settle();
  answer(0, "allow-always");
  expect([await first, await sibling]).toEqual([undefined, undefined]);
  answer(1, "deny");
  await settle();
  expect(requests.map((request) => request.signal.aborted)).toEqual([false, true, false]);
  expect(otherEnded).toBe(false);
});

test("F1.50 an answer after its session was dropped leaves no grant", async () => {
  const { approve, requests, answer } = patientApprover();
  const approvals = gate({ approve });
  const asked = approvals.ask(question());
  await settle();
  approvals.forget("session_1");
  answer(0, "allow-always");
  expect(await asked).toBeUndefined();
  void approvals.ask(question());
  await settle();
  expect(requests).toHaveLength(2);
});

test("F1.50 cancelling the call ends the wait for approval as cancelled and not started, and aborts the request", async () => {
  const { approve, requests } = patientApprover();
  const controller = new AbortController();
  const approvals = gate({ approve });
  const asked = approvals.ask(question({ signal: controller.signal }));
  await settle();
  controller.abort();
  const expected = {
    code: "cancelled",
    message: "files::delete was cancelled while it waited for approval.",
    retryable: false,
    outcome: "not_started",
  };
  expect((await asked)?.toJSON()).toEqual(expected);
  expect(requests[0]?.signal.aborted).toBe(true);
  expect((await approvals.ask(question({ signal: controller.signal })))?.toJSON()).toEqual(expected);
  expect(requests).toHaveLength(1);
});

test("H12 the request is frozen and bound to the tool and the canonical input", async () => {
  const { approve, requests } = patientApprover();
  const approvals = gate({ approve });
  void approvals.ask(question({ callId: "call_1", input: { b: 1, a: [true, null] } }));
  void approvals.ask(question({ callId: "call_2", input: { a: [true, null], b: 1 } }));
  void approvals.ask(question({ callId: "call_3", input: { a: [true, null], b: 2 } }));
  await settle();
  const expected = createHash("sha256").update('{"definition":"d","input":{"a":[true,null],"b":1},"tool":"files::delete"}').digest("hex");
  expect(requests.map(({ digest }) => digest === expected)).toEqual([true, true, false]);
  expect(requests.every((request) => Object.isFrozen(request))).toBe(true);
});

test("F1.50 destructive tools and tools on the always list need approval; tools on the never list do not", () => {
  const approvals = gate({ always: ["mail::*", "files::clean"], never: ["files::delete", "mail::draft"] });
  const reasons = (destructive: boolean): readonly (string | undefined)[] =>
    ["files::delete", "files::clean", "mail::draft", "mail::send", "web::get"].map((name) => approvals.reasonFor(name, destructive));
  expect(reasons(false)).toEqual([
    undefined,
    "The approval rules ask before files::clean runs.",
    undefined,
    "The approval rules ask before mail::send runs.",
    undefined,
  ]);
  expect(reasons(true)).toEqual([
    undefined,
    "files::clean may destroy something.",
    undefined,
    "mail::send may destroy something.",
    "web::get may destroy something.",
  ]);
  expect(gate({}).reasonFor("web::get", false)).toBeUndefined();
  expect(gate({ always: ["*"] }).reasonFor("web::get", false)).toBe("The approval rules ask before web::get runs.");
  const bare = gate({ always: ["get"], never: ["drop"] });
  expect([bare.reasonFor("default::get", false), bare.reasonFor("web::get", false), bare.reasonFor("default::drop", true)]).toEqual([
    "The approval rules ask before default::get runs.",
    undefined,
    undefined,
  ]);
});

test.each<[ApprovalSettings, string]>([
  [{ timeoutMs: -1 }, "timeoutMs of the approval is -1; it takes a number from 0 to 315576000000 (0 = no limit)."],
  // SQLite could not read the time at which the question ends, nor a dashboard show it
  [{ timeoutMs: Number.MAX_SAFE_INTEGER }, "timeoutMs of the approval is 9007199254740991; it takes a number from 0 to 315576000000"],
])("the settings %j are rejected", (settings, message) => {
  expect(() => gate(settings)).toThrow(message);
});

test("F0.34 a tool that a loop always allows in a simulation is allowed there until it is closed, without a stored rule", async () => {
  const store = memoryStore();
  const approvals = new ApprovalGate({}, fakePorts(), store);
  const asks = async (): Promise<string | undefined> => (await approvals.ask(question({ sessionId: "s~1", simulated: true })))?.code;
  const first = await asks();
  approvals.allowAlways("s~1", "files::delete", { definition: "d" });
  expect([first, await asks(), await asks(), await approvals.rules()]).toEqual(["approval_required", undefined, undefined, []]);
  approvals.forget("s~1");
  expect(await asks()).toBe("approval_required");
});

test.each([["d"], [null], [{ definiton: "d" }], [{ definition: 5 }]])("allowAlways rejects %j, and allows nothing", async (shown) => {
  const approvals = new ApprovalGate({}, fakePorts(), memoryStore());
  expect(() => approvals.allowAlways("s", "files::delete", shown as never)).toThrow(ToolError);
  expect((await approvals.ask(question({ sessionId: "s" })))?.code).toBe("approval_required");
});
