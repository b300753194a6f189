/** The contract of every implementation of `Approvals`, as cases for any test runner. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { ApprovalQuestion, Approvals } from "../core/approvals/approvals.ts";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../core/approvals/ask.ts";
import type { JsonObject } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { onNextTurn } from "../core/system/lazy-timer.ts";
import { assertRejects } from "./store-case.ts";
import { PATIENCE_MS, assertSettlesWithin } from "./settles-within.ts";

/** Makes approvals with this approver and no rules of their own. */
export type ApprovalsMaker = (approve: Approver | undefined) => Approvals;

/** One case of the contract that every `Approvals` keeps. */
export interface ApprovalsCase {
  /** The promise that is checked: `an answer to another input decides nothing`. */
  readonly title: string;
  /** Rejects if the promise is broken; the error says how. */
  run(make: ApprovalsMaker): Promise<void>;
}

/** Approvals whose approver never answers, so that answers come from elsewhere; records the requests. */
class SilentApprover {
  readonly requests: ApprovalRequest[] = [];
  readonly approvals: Approvals;
  /** Whether the calls continue in another process. */
  isHandedOver = false;
  #calls = 0;

  constructor(make: ApprovalsMaker) {
    this.approvals = make((request) => {
      this.requests.push(request);
      return new Promise<ApprovalAnswer>(() => {});
    });
  }

  /** Asks a question and waits until it is pending. */
  async ask(sessionId: string, input: JsonObject, toolName = "files::delete"): Promise<Asked> {
    const callId = `call_${++this.#calls}`;
    const controller = new AbortController();
    const ended = this.approvals
      .ask(question({ callId, sessionId, input, toolName, signal: controller.signal, isHandedOver: () => this.isHandedOver }))
      .then(codeOf);
    await assertSettlesWithin(this.#listed(callId), PATIENCE_MS, `The question of ${callId} is listed`);
    return { callId, controller, ended };
  }

  async answer(callId: string, answer: ApprovalAnswer): Promise<boolean> {
    const open = (await this.approvals.pending()).find((one) => one.callId === callId);
    return open !== undefined && (await this.approvals.answer({ callId, digest: open.digest, answer }));
  }

  async #listed(callId: string): Promise<void> {
    while (!(await this.approvals.pending()).some((one) => one.callId === callId)) await nextMoment();
  }
}

interface Asked {
  readonly callId: string;
  readonly controller: AbortController;
  /** The code of the error that the call ends with; `allowed` if the call may run. */
  readonly ended: Promise<string>;
}

/** The cases. Each needs approvals of its own. */
export const approvalsContract: readonly ApprovalsCase[] = [
  caseOf("without an approver a call is refused with approval_required, and nothing is pending", async (make) => {
    const approvals = make(undefined);
    equal(approvals.hasApprover, false);
    equal(codeOf(await approvals.ask(question())), "approval_required");
    deepEqual(await approvals.pending(), []);
  }),
  caseOf("a destructive call needs approval, another does not", async (make) => {
    const approvals = make(() => "deny");
    equal(approvals.hasApprover, true);
    ok(approvals.reasonFor("files::delete", true) !== undefined);
    equal(approvals.reasonFor("files::read", false, { id: "a" }), undefined);
  }),
  caseOf("a session's own rule asks for more until the session ends", async (make) => {
    const approvals = make(() => "deny");
    approvals.setSessionRule("a", (name) => (name.startsWith("mail::") ? "The mail was read." : undefined));
    equal(approvals.mayAsk, true);
    equal(approvals.reasonFor("mail::send", false, { id: "a" }), "The mail was read.");
    equal(approvals.reasonFor("mail::send", false, { id: "b" }), undefined);
    equal(approvals.reasonFor("files::read", false, { id: "a" }), undefined);
    approvals.forget("a");
    equal(approvals.reasonFor("mail::send", false, { id: "a" }), undefined);
  }),
  caseOf("what the approver answers decides, and its failure denies", async (make) => {
    equal(codeOf(await make(() => "allow-once").ask(question())), "allowed");
    equal(codeOf(await make(() => Promise.resolve("deny")).ask(question())), "approval_denied");
    equal(codeOf(await make(() => Promise.reject(new Error("down"))).ask(question())), "approval_denied");
  }),
  caseOf("open questions are listed as JSON, oldest first, until they are answered", async (make) => {
    const silent = new SilentApprover(make);
    const first = await silent.ask("a", { path: "/1" });
    const second = await silent.ask("b", { path: "/2" });
    const listed = await silent.approvals.pending();
    deepEqual(
      listed.map(({ position: _position, status: _status, askedIn: _askedIn, ...shown }) => shown),
      silent.requests.map(({ signal: _signal, ...shown }) => shown),
    );
    deepEqual(parseJson(JSON.stringify(listed)), listed);
    equal(await silent.answer(first.callId, "allow-once"), true);
    deepEqual(
      (await silent.approvals.pending()).map(({ callId }) => callId),
      [second.callId],
    );
    equal(await silent.answer(second.callId, "deny"), true);
    deepEqual(await Promise.all([first.ended, second.ended]), ["allowed", "approval_denied"]);
    ok(silent.requests.every(({ signal }) => signal.aborted));
  }),
  caseOf("an answer to another input, to no question or a second time decides nothing, and an invalid one is refused", async (make) => {
    const silent = new SilentApprover(make);
    const { callId, ended } = await silent.ask("a", { path: "/1" });
    const digest = silent.requests[0]?.digest ?? "";
    equal(await silent.approvals.answer({ callId, digest: "0".repeat(64), answer: "allow-once" }), false);
    equal(await silent.approvals.answer({ callId: "call_0", digest, answer: "allow-once" }), false);
    const wrong = "yes" as ApprovalAnswer; // as an untyped program may pass
    await assertRejects(() => silent.approvals.answer({ callId, digest, answer: wrong }), "invalid_argument");
    equal(await silent.approvals.answer({ callId, digest, answer: "deny" }), true);
    equal(await silent.approvals.answer({ callId, digest, answer: "allow-once" }), false);
    equal(await ended, "approval_denied");
  }),
  caseOf("allow-always answers the open questions about the same tool and session, and later ones", async (make) => {
    const silent = new SilentApprover(make);
    const [one, same, other, elsewhere] = [
      await silent.ask("a", { path: "/1" }),
      await silent.ask("a", { path: "/2" }),
      await silent.ask("a", { path: "/3" }, "files::move"),
      await silent.ask("b", { path: "/4" }),
    ];
    equal(await silent.answer(one.callId, "allow-always"), true);
    deepEqual(await Promise.all([one.ended, same.ended]), ["allowed", "allowed"]);
    equal(codeOf(await silent.approvals.ask(question({ sessionId: "a", input: { path: "/5" } }))), "allowed");
    for (const { callId } of [other, elsewhere]) equal(await silent.answer(callId, "deny"), true);
    deepEqual(await Promise.all([other.ended, elsewhere.ended]), ["approval_denied", "approval_denied"]);
  }),
  caseOf("a question is withdrawn with its call", async (make) => {
    const silent = new SilentApprover(make);
    const { callId, controller, ended } = await silent.ask("a", { path: "/1" });
    controller.abort();
    equal(await ended, "cancelled");
    equal(await silent.answer(callId, "allow-once"), false);
    equal(silent.requests[0]?.signal.aborted, true);
  }),
  caseOf("a question whose call continues in another process stays open, and its approver is not waited for", async (make) => {
    const silent = new SilentApprover(make);
    const { callId, controller, ended } = await silent.ask("a", { path: "/1" });
    silent.isHandedOver = true;
    controller.abort();
    equal(await ended, "cancelled");
    equal(silent.requests[0]?.signal.aborted, true);
    equal(await silent.answer(callId, "allow-once"), true);
  }),
  caseOf("one call of a digest is allowed once, unless that is taken back or forgotten", async (make) => {
    const digest = (await digestsOf(make))[0] ?? "";
    const approvals = make(() => "deny");
    const outcome = async (sessionId: string): Promise<string> => codeOf(await approvals.ask(question({ sessionId })));
    approvals.allowOnce("a", digest);
    deepEqual([await outcome("b"), await outcome("a"), await outcome("a")], ["approval_denied", "allowed", "approval_denied"]);
    const takeBack = approvals.allowOnce("a", digest);
    takeBack();
    takeBack();
    equal(await outcome("a"), "approval_denied");
    approvals.allowOnce("a", digest);
    approvals.allowAlways("b", "files::delete");
    equal(await outcome("b"), "allowed");
    for (const id of ["a", "b"]) approvals.forget(id);
    deepEqual([await outcome("a"), await outcome("b")], ["approval_denied", "approval_denied"]);
  }),
  caseOf("a question with a warning is answered only by what was allowed in view of one in the same session", async (make) => {
    const asked: string[] = [];
    let answer: ApprovalAnswer = "deny";
    const approvals = make(({ sessionId }) => (asked.push(sessionId), answer));
    const ask = async (sessionId: string, warned: boolean, path = "/a"): Promise<string> =>
      codeOf(await approvals.ask(question({ callId: `call_${asked.length}`, sessionId, input: { path }, ...(warned ? { warned } : {}) })));
    approvals.allowAlways("a", "files::delete");
    await approvals.addRule({ pattern: "*" });
    deepEqual([await ask("a", false), await ask("a", true)], ["allowed", "approval_denied"]);
    answer = "allow-input";
    deepEqual([await ask("a", true), await ask("a", true), await ask("a", true, "/b")], ["allowed", "allowed", "allowed"]);
    deepEqual(asked, ["a", "a", "a"]);
    approvals.allowAlways("b", "files::delete", { warned: true });
    answer = "deny";
    deepEqual([await ask("b", true), await ask("b", false), await ask("c", true)], ["allowed", "allowed", "approval_denied"]);
  }),
  caseOf("an always-allowed tool still needs approval where the model's provider wants the call confirmed", async (make) => {
    const approvals = make(() => "deny");
    approvals.allowAlways("a", "files::delete");
    const safetyChecks = { pending_safety_checks: [{ id: "check_1" }] };
    const input = { path: "/a", ...safetyChecks };
    equal(codeOf(await approvals.ask(question())), "allowed");
    equal(codeOf(await approvals.ask(question({ input, safetyChecks }))), "approval_denied");
  }),
];

function caseOf(title: string, run: ApprovalsCase["run"]): ApprovalsCase {
  return { title, run };
}

function question(fields: Partial<ApprovalQuestion> = {}): ApprovalQuestion {
  return {
    callId: "call_0",
    sessionId: "a",
    turnId: "turn_0",
    definition: "definition",
    toolName: "files::delete",
    description: "Deletes a file.",
    input: { path: "/a" },
    reason: "files::delete may destroy something.",
    simulated: false,
    signal: new AbortController().signal,
    ...fields,
  };
}

/** Returns the digests that an approver is shown for the default question. */
async function digestsOf(make: ApprovalsMaker): Promise<readonly string[]> {
  const digests: string[] = [];
  await make(({ digest }) => (digests.push(digest), "deny")).ask(question());
  return digests;
}

function codeOf(error: { readonly code: string } | undefined): string {
  return error?.code ?? "allowed";
}

/** Yields to the event loop, so that an implementation with I/O can continue. */
function nextMoment(): Promise<void> {
  return new Promise((resolve) => onNextTurn(resolve));
}
