/** Reads a conversation file: JSON Lines in Haft's format, one message a line. */
import type { ApprovalAnswer } from "../../core/approvals/ask.ts";
import type { ToolCall } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { readJsonLines } from "../../documents/read-json-lines.ts";

export type ConversationLine =
  | { readonly role: "user" | "system"; readonly content: string }
  /** Calls of the model. The runtime checks them: a malformed call gets a result like any other. */
  | { readonly role: "assistant"; readonly content: string; readonly calls: readonly ToolCall[] }
  /** A recorded result, which is ignored: the call is run again. */
  | { readonly role: "tool" }
  /** The answer of a scripted person to the next call that needs approval, after `afterMs` milliseconds. */
  | { readonly role: "approver"; readonly answer: ApprovalAnswer; readonly afterMs: number };

type Role = ConversationLine["role"];

/** The keys of each role's lines. A `tool` line may have any, and they are ignored. */
const KEYS: ReadonlyMap<string, readonly string[]> = new Map<Role, readonly string[]>([
  ["user", ["role", "content"]],
  ["assistant", ["role", "content", "calls"]],
  ["tool", []],
  ["approver", ["role", "answer", "afterMs"]],
  ["system", ["role", "content"]],
]);
const ANSWERS = ["allow-once", "allow-always", "deny"] as const satisfies readonly ApprovalAnswer[];
const MAX_AFTER_MS = 60_000;

/**
 * Reads all lines before anything runs; skips blank lines.
 *
 * @throws ToolError `invalid_call`, with the first twenty bad lines as `file:line: …`
 */
export function readConversation(text: string, file: string): readonly ConversationLine[] {
  const { items, problems } = readJsonLines({ text, file }, readLine);
  if (problems.length === 0) return items;
  throw new ToolError("invalid_call", `${file} is not a conversation that can be played; nothing was run.`, {
    details: problems,
    hint: 'A line is like {"role": "user", "content": "…"} or {"role": "assistant", "calls": [{"name": "files::read", "input": {"path": "notes.md"}}]}.',
  });
}

function readLine(value: JsonValue): ConversationLine {
  if (!isJsonObject(value)) throw invalidLineError("A line must be a JSON object.");
  const { role } = value;
  const problems = [...keyProblems(value, role)];
  const line = lineOf(value, role, problems);
  if (problems.length > 0) throw new ToolError("invalid_call", problems[0] ?? "", { details: problems });
  return line;
}

/** Reads one line. @param problems receives what is wrong; if it receives anything, the returned line is not usable */
function lineOf(line: JsonObject, role: JsonValue | undefined, problems: string[]): ConversationLine {
  switch (role) {
    case "user":
    case "system":
      return { role, content: textOf(line, problems) };
    case "assistant":
      return {
        role,
        content: line["content"] === undefined || line["content"] === null ? "" : textOf(line, problems),
        calls: callsOf(line, problems),
      };
    case "approver":
      return approverOf(line, problems);
    default:
      return { role: "tool" };
  }
}

function keyProblems(line: JsonObject, role: JsonValue | undefined): readonly string[] {
  const known = typeof role === "string" ? KEYS.get(role) : undefined;
  if (known === undefined) {
    const roles = [...KEYS.keys()].map((name) => JSON.stringify(name)).join(", ");
    return [
      role === undefined ? `"role" is missing; it is one of ${roles}.` : `"role" must be one of ${roles}, not ${JSON.stringify(role)}.`,
    ];
  }
  const strays = known.length === 0 ? [] : Object.keys(line).filter((key) => !known.includes(key));
  const keys = known.map((key) => JSON.stringify(key)).join(", ");
  return strays.map((stray) => `${JSON.stringify(stray)} is not a key of a line of ${JSON.stringify(role)}, which has ${keys}.`);
}

function textOf({ content }: JsonObject, problems: string[]): string {
  if (typeof content === "string") return content;
  problems.push('"content" must be a string.');
  return "";
}

function callsOf(line: JsonObject, problems: string[]): readonly ToolCall[] {
  const calls = line["calls"] ?? [];
  if (isJsonArray(calls)) return calls as readonly unknown[] as readonly ToolCall[]; // the runtime checks them, see `ConversationLine`
  problems.push('"calls" must be an array of calls such as {"id": "1", "name": "files::read", "input": {}}.');
  return [];
}

function approverOf(line: JsonObject, problems: string[]): ConversationLine {
  const { afterMs = 0 } = line;
  const answer = ANSWERS.find((known) => known === line["answer"]);
  if (answer === undefined) problems.push(`"answer" must be one of ${ANSWERS.map((known) => JSON.stringify(known)).join(", ")}.`);
  const isTime = typeof afterMs === "number" && afterMs >= 0 && afterMs <= MAX_AFTER_MS;
  if (!isTime) problems.push(`"afterMs" must be a number from 0 to ${MAX_AFTER_MS}.`);
  return { role: "approver", answer: answer ?? "deny", afterMs: isTime ? afterMs : 0 };
}

function invalidLineError(problem: string): ToolError {
  return new ToolError("invalid_call", problem);
}
