/** Recordings to be read, written as they should be and as they should not. */
import { hash } from "node:crypto";
import { expect } from "vitest";
import type { ContentPart } from "../../../src/core/content.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import { readRecording, writeRecording, type RecordingSource } from "../../../src/core/recording/recording.ts";

export const HEADER = { sessionId: "s", exportedAt: 1_767_225_600_000 };
export const FACT = { sessionId: "s", at: 1 };

export function say(content: string | readonly ContentPart[], role: "user" | "system" = "user"): SessionEvent {
  return { type: "message-add", ...FACT, message: { role, content } };
}

export function answer(callId: string, output: JsonValue): SessionEvent {
  const result = { callId, name: "a::b", status: "ok", origin: "live", attempts: 1, durationMs: 1, repairs: [], warnings: [] } as const;
  return { type: "call-end", ...FACT, callId, turnId: "t", result: { ...result, output } };
}

export async function write(events: readonly SessionEvent[]): Promise<readonly string[]> {
  return collect(writeRecording(events, HEADER));
}

export interface Reading {
  readonly events: readonly SessionEvent[];
  readonly error?: Pick<ToolError, "code" | "message">;
}

/** Everything that comes before the damage, and the damage. */
export async function read(source: RecordingSource): Promise<Reading> {
  const events: SessionEvent[] = [];
  try {
    const recording = await readRecording(source);
    expect(recording.header).toEqual(HEADER);
    for await (const event of recording.events) events.push(event);
  } catch (error: unknown) {
    if (!(error instanceof ToolError)) throw error;
    return { events, error: { code: error.code, message: error.message } };
  }
  return { events };
}

/** Lines with sums that are right, whatever they say. */
export function forge(lines: readonly unknown[]): string {
  let sum = "";
  return lines
    .map((line) => {
      const open = (typeof line === "string" ? line : JSON.stringify(line)).slice(0, -1);
      sum = hash("sha256", sum + open);
      return `${open},"sum":"${sum}"}\n`;
    })
    .join("");
}

export const FIRST = { haft: "recording", version: 1, ...HEADER };

export async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
