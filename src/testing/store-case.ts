/** Building blocks for the cases of the store contract. */
import { equal, fail } from "node:assert/strict";
import type { ErrorCode } from "../core/error-codes.ts";
import { isToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { Store } from "../core/store/store.ts";

/** The subject of a case. The case opens and closes the stores that it asks for. */
export interface StoreSubject {
  /** An empty store that is not open yet. */
  readonly store: Store;
  /** Makes another store over the same data, as another process would. It is not open yet. */
  createSecond(): Store;
}

/** One case of the contract that every store keeps. */
export interface StoreCase {
  /** The promise that is checked: `an id that is taken is refused`. */
  readonly title: string;
  /** Whether the case needs `another`: skip it for a store whose data belongs to one object. */
  readonly needsSecond: boolean;
  /** Rejects if the promise is broken; the error says how. */
  run(subject: StoreSubject): Promise<void>;
}

/** Makes a case for one store, which is opened before it and closed after it. */
export function singleStoreCase(title: string, run: (store: Store) => Promise<void>): StoreCase {
  return { title, needsSecond: false, run: ({ store }) => withOpenStores([store], () => run(store)) };
}

/** Makes a case for two stores over the same data, both open. */
export function twoStoreCase(title: string, run: (one: Store, other: Store) => Promise<void>): StoreCase {
  return {
    title,
    needsSecond: true,
    run(subject) {
      const other = subject.createSecond();
      return withOpenStores([subject.store, other], () => run(subject.store, other));
    },
  };
}

async function withOpenStores(stores: readonly Store[], run: () => Promise<void>): Promise<void> {
  try {
    for (const store of stores) await store.open();
    await run();
  } finally {
    for (const store of stores) await store.close();
  }
}

/** Makes a small frozen event whose number is also its time. */
export function messageEvent(sessionId: string, number: number): SessionEvent {
  const messageEvent = Object.freeze({ role: "user", content: `message ${number}` } as const);
  return Object.freeze({ type: "message-add", sessionId, at: number, message: messageEvent });
}

/** Makes the events whose numbers are in a range, both ends included. */
export function messageEvents(sessionId: string, first: number, last: number): readonly SessionEvent[] {
  return Array.from({ length: last - first + 1 }, (_, index) => messageEvent(sessionId, first + index));
}

/** Makes the `call-end` event of a successful call. */
export function callEndEvent(sessionId: string, output: JsonValue): SessionEvent {
  const result = { callId: "call_1", name: "a::b", status: "ok", output, origin: "live", attempts: 1, durationMs: 1.5 } as const;
  return { type: "call-end", sessionId, at: 1, callId: "call_1", turnId: "turn_1", result: { ...result, repairs: [], warnings: [] } };
}

/** Asserts that an action throws or rejects with a ToolError of this code. */
export async function assertRejects(action: () => unknown, code: ErrorCode): Promise<void> {
  try {
    await action();
  } catch (error: unknown) {
    equal(isToolError(error) ? error.code : error, code);
    return;
  }
  fail(`It was not refused with ${code}.`);
}

/** Like `assertRejects`, for an action that must throw synchronously. */
export function assertThrows(action: () => unknown, code: ErrorCode): void {
  try {
    action();
  } catch (error: unknown) {
    equal(isToolError(error) ? error.code : error, code);
    return;
  }
  fail(`It was not refused at once with ${code}.`);
}
