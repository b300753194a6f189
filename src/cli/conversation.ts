/** Reads a conversation file: neutral JSON Lines, one message a line. */
import type { ApprovalAnswer } from "../core/ask.ts";
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/json.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { parseJson } from "../core/parse-json.ts";

export type ConversationLine =
  | { readonly role: "user" | "system"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly calls: readonly ToolCall[] }
  /** A recorded result; shown to nobody, because the call is run again. */
  | { readonly role: "tool" }
  /** What a scripted person answers to the next approval that is asked, after so many milliseconds. */
  | { readonly role: "approver"; readonly answer: ApprovalAnswer; readonly afterMs: number };

const ROLES = ["user", "system", "assistant", "tool", "approver"] as const;
const ANSWERS: readonly string[] = ["allow-once", "allow-always", "deny"] satisfies ApprovalAnswer[];
const MAX_AFTER_MS = 60_000;
const MAX_PROBLEMS = 20;

/**
 * Reads all lines before anything runs; blank lines are left out.
 *
 * @throws ToolError `invalid_call` with each bad line as `file:line: …`
 */
export function readConversation(text: string, file: string): readonly ConversationLine[] {
  const lines: ConversationLine[] = [];
  const problems: string[] = [];
  for (const [index, raw] of text.split("\n").entries()) {
    if (raw.trim() === "") continue;
    try {
      lines.push(readLine(parseJson(raw)));
    } catch (error: unknown) {
      problems.push(`${file}:${index + 1}: ${ToolError.fromUnknown(error).message}`);
      if (problems.length === MAX_PROBLEMS) break;
    }
  }
  if (problems.length > 0) {
    throw new ToolError("invalid_call", `The conversation ${file} cannot be played; nothing was run.`, {
      details: problems,
      hint: 'Each line is one JSON object: {"role": "user", "content": "…"} or {"role": "assistant", "content": "…", "calls": [{"id": "1", "name": "toolset::tool", "input": {}}]}.',
    });
  }
  return lines;
}

function readLine(value: JsonValue): ConversationLine {
  if (!isJsonObject(value)) throw wrong("a line is a JSON object");
  const { role } = value;
  switch (role) {
    case "user":
    case "system":
      return { role, content: textOf(value, "content") };
    case "assistant":
      return { role, content: value["content"] === undefined || value["content"] === null ? "" : textOf(value, "content"), calls: callsOf(value) };
    case "tool":
      return { role };
    case "approver":
      return approverOf(value);
    default:
      throw wrong(`"role" is ${JSON.stringify(role)}; it takes ${ROLES.map((name) => `"${name}"`).join(", ")}`);
  }
}

function textOf(line: JsonObject, key: string): string {
  const text = line[key];
  if (typeof text !== "string") throw wrong(`"${key}" takes a string`);
  return text;
}

function callsOf(line: JsonObject): readonly ToolCall[] {
  const calls = line["calls"] ?? [];
  if (!Array.isArray(calls)) throw wrong('"calls" takes a list of {"id", "name", "input"}');
  return calls as readonly ToolCall[]; // whatever a call is, the runtime answers it: a malformed one is a result, not a bad file
}

function approverOf(line: JsonObject): ConversationLine {
  const { answer, afterMs = 0 } = line;
  if (typeof answer !== "string" || !ANSWERS.includes(answer)) throw wrong(`"answer" takes ${ANSWERS.map((one) => `"${one}"`).join(", ")}`);
  if (typeof afterMs !== "number" || afterMs < 0 || afterMs > MAX_AFTER_MS) throw wrong(`"afterMs" takes a number from 0 to ${MAX_AFTER_MS}`);
  return { role: "approver", answer: answer as ApprovalAnswer, afterMs };
}

function wrong(problem: string): ToolError {
  return new ToolError("invalid_call", problem);
}
