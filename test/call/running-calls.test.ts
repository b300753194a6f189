import { expect, test } from "vitest";
import { RunningCalls } from "../../src/call/running-calls.ts";

class Call {
  readonly callId: string;
  readonly turn: { readonly session: object };
  previous: Call | undefined;
  next: Call | undefined;

  constructor(callId: string, session: object = {}) {
    this.callId = callId;
    this.turn = { session };
  }

  cancel(): void {}
}

function begun(...callIds: readonly string[]): { readonly running: RunningCalls<Call>; readonly calls: readonly Call[] } {
  const running = new RunningCalls<Call>();
  const calls = callIds.map((callId) => new Call(callId));
  for (const call of calls) running.add(call);
  return { running, calls };
}

test("running calls are listed oldest first, whichever of them end", () => {
  for (const gone of ["a", "b", "c"]) {
    const { running, calls } = begun("a", "b", "c");
    for (const call of calls) if (call.callId === gone) running.remove(call);
    const left = ["a", "b", "c"].filter((callId) => callId !== gone);
    expect(running.all().map(({ callId }) => callId)).toEqual(left);
    running.add(new Call("d"));
    expect(running.all().map(({ callId }) => callId)).toEqual([...left, "d"]);
  }
});

test("an ended call refers to no other call", () => {
  const { running, calls } = begun("a", "b", "c");
  for (const call of calls) running.remove(call);
  for (const call of calls) expect([call.previous, call.next]).toEqual([undefined, undefined]);
  expect(running.all()).toEqual([]);
});

test("a running call is found by its id, even if it started after the first look-up", () => {
  const { running, calls } = begun("a", "b");
  expect(running.get("b")).toBe(calls[1]);
  const late = new Call("c");
  running.add(late);
  expect(running.get("c")).toBe(late);
  for (const call of [...calls, late]) running.remove(call);
  expect(running.get("c")).toBeUndefined();
});

test("whenEnded does not wait for calls that start later", async () => {
  const { running, calls } = begun("a", "b");
  const ended = running.whenEnded();
  running.add(new Call("c"));
  for (const call of calls) running.remove(call);
  await ended;
  expect(running.all().map(({ callId }) => callId)).toEqual(["c"]);
});

test("running calls of a session are found, even if they started after the first look-up", () => {
  const running = new RunningCalls<Call>();
  const [session, other] = [{ callsCancelReason: undefined }, { callsCancelReason: undefined }];
  const idsIn = (one: typeof session) => running.inSession(one).map(({ callId }) => callId);
  const [first, second] = [new Call("a", session), new Call("b", session)];
  for (const call of [first, new Call("c", other)]) running.add(call);
  expect(idsIn(session)).toEqual(["a"]);
  running.add(second);
  running.remove(first);
  expect([idsIn(session), idsIn(other)]).toEqual([["b"], ["c"]]);
  for (const call of running.all()) running.remove(call);
  expect([idsIn(session), idsIn(other)]).toEqual([[], []]);
});
