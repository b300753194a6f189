/** Changes of a session's state that are undone, in any order, or can no longer be undone. */
import { expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import { NO_STATE, SessionState, stateKey } from "../../src/session/session-state.ts";
import type { TurnCall } from "../../src/session/turn-queue.ts";

/** A call that can be taken back until it is settled. */
class Call implements TurnCall {
  readonly turn = {};
  readonly revokedReason = undefined;
  readonly detachedTurn = undefined;
  readonly callId: string;
  takenBackWith: object | undefined = this;

  constructor(callId: string) {
    this.callId = callId;
  }
}

function world() {
  const state = new SessionState(NO_STATE);
  const [one, two, three] = [new Call("one"), new Call("two"), new Call("three")];
  const set = (call: Call | undefined, value: JsonValue | undefined, key = "k") =>
    state.set({ turnId: "t", callId: call?.callId ?? "", toolset: "s", key }, value, call);
  const undone: [string, string][] = [];
  const undo = (...calls: readonly object[]): void => state.undo(new Set(calls), ({ callId, key }) => undone.push([callId, key]));
  return { state, one, two, three, set, undo, undone, value: (key = "k") => state.values.get(stateKey("s", key)) };
}

test("F1.33 a void change under the change of another call is undone as soon as that one is void too", () => {
  const { one, two, three, set, undo, undone, value } = world();
  set(one, 1);
  set(two, 2);
  set(three, 3);
  undo(one);
  expect(value()).toBe(3);
  undo(two);
  expect(value()).toBe(3);
  undo(three);
  expect(value()).toBeUndefined();
  expect(undone).toEqual([["three", "k"]]);
});

test("F1.33 a change that counts keeps everything below it, and what was made before it cannot be undone later", () => {
  const { one, two, three, set, undo, value } = world();
  set(one, 1);
  set(two, 2);
  set(undefined, 3);
  set(three, 4);
  undo(one, two);
  expect(value()).toBe(4);
  undo(three);
  expect(value()).toBe(3);
});

test("F1.33 equal values do not confuse changes: only those of void calls are undone", () => {
  const { one, two, three, set, undo, value } = world();
  set(undefined, 1);
  set(one, 2);
  set(two, 1);
  set(three, 2);
  undo(one, three);
  expect(value()).toBe(1); // as the second call has left it
  undo(two);
  expect(value()).toBe(1); // as it was before all three
});

test("F1.33 when calls are settled, their changes count, and those of others can still be undone", () => {
  const { state, one, two, set, undo, value } = world();
  set(one, 1);
  set(two, 1, "other");
  one.takenBackWith = undefined;
  state.forgetSettled();
  undo(one, two);
  expect([value(), value("other")]).toEqual([1, undefined]);
});

test("F1.33 changes of a nested call that has ended are undone with the call whose handler made it, in one step", () => {
  const { one, two, set, undo, undone, value } = world();
  set(one, 1);
  set(two, 2);
  two.takenBackWith = one;
  set(one, 3);
  set(one, 4);
  undo(one);
  expect([value(), undone]).toEqual([undefined, [["one", "k"]]]);
});

test("F1.33 an undo that changes no value, and one of calls that changed nothing, is not reported", () => {
  const { one, two, set, undo, undone, value } = world();
  set(undefined, 1);
  set(one, 2);
  set(one, 1);
  undo(one);
  undo(two);
  expect([value(), undone]).toEqual([1, []]);
});
