/** Limits a conversation to its newest turns, each whole. */
import { SIZE, checkNumber } from "../core/base/number-bounds.ts";
import type { ModelMessage } from "../core/message.ts";

export const DEFAULT_MAX_TURNS = 50;

/**
 * Keeps the newest turns and every system message; `maxTurns` 0 = no limit.
 *
 * A turn lasts from one user message until before the next. Without user messages, a turn begins with the first call of each `turnId`, and with the
 * assistant message right before it. Messages before the first turn belong to it. If something is dropped, so is every result whose call is not kept.
 *
 * @param maxTurns defaults to 50
 * @throws ToolError `invalid_argument`
 */
export function limitTurns(messages: readonly ModelMessage[], maxTurns: number = DEFAULT_MAX_TURNS): readonly ModelMessage[] {
  checkMaxTurns(maxTurns);
  const starts = findTurnStarts(messages);
  const first = maxTurns === 0 ? undefined : starts[starts.length - maxTurns];
  return first === undefined || first === starts[0] ? [...messages] : keepFrom(messages, first);
}

/** @throws ToolError `invalid_argument` unless it is an integer from 0 */
export function checkMaxTurns(maxTurns: number): void {
  checkNumber(maxTurns, "maxTurns", { ...SIZE, zero: "no limit" });
}

/** How many turns `limitTurns` drops. */
export function countOldTurns(messages: readonly ModelMessage[], maxTurns: number = DEFAULT_MAX_TURNS): number {
  return maxTurns === 0 ? 0 : Math.max(0, findTurnStarts(messages).length - maxTurns);
}

/** The index at which each turn begins, the oldest first; empty if there is neither a user message nor a call. */
export function findTurnStarts(messages: readonly ModelMessage[]): readonly number[] {
  const users: number[] = [];
  const calls: number[] = [];
  const turnIds = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "user") users.push(index);
    if (message.role !== "call" || turnIds.has(message.turnId)) continue;
    turnIds.add(message.turnId);
    calls.push(messages[index - 1]?.role === "assistant" ? index - 1 : index);
  }
  return users.length > 0 ? users : calls;
}

/** Drops everything before an index except system messages, and every result whose call is dropped. */
export function keepFrom(messages: readonly ModelMessage[], first: number): readonly ModelMessage[] {
  const calls = new Set<string>();
  for (let index = first; index < messages.length; index++) {
    const message = messages[index];
    if (message?.role === "call") calls.add(message.callId);
  }
  return messages.filter((message, index) => {
    if (message.role === "system") return true;
    return message.role === "result" ? calls.has(message.callId) : index >= first;
  });
}
