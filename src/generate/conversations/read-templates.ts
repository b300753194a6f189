/** Reads templates from JSON Lines: one conversation per line. */
import { checkString } from "../../core/check-argument.ts";
import { quoteValue } from "../../core/base/wording.ts";
import type { ToolCall } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { readJsonLines } from "../../documents/read-json-lines.ts";
import type { ConversationTemplate, TemplateMessage } from "./conversation-template.ts";
import { findReferenceProblems } from "./template-references.ts";

const KEYS: ReadonlyMap<string, readonly string[]> = new Map<TemplateMessage["role"], readonly string[]>([
  ["user", ["role", "content"]],
  ["system", ["role", "content"]],
  ["assistant", ["role", "content", "calls"]],
]);
const TEMPLATE_KEYS = ["id", "system", "messages"];

/**
 * Reads all templates before anything runs; blank lines are skipped.
 *
 * @param file the name of the text in error messages
 * @throws ToolError `invalid_argument`, with each bad line as `file:line: …`, at most twenty, and for a text without templates
 */
export function readTemplates(text: string, file: string): readonly ConversationTemplate[] {
  if (typeof text !== "string")
    throw templateError(`readTemplates() takes the text of ${quoteValue(file)}, which is of type ${typeof text}.`);
  checkString(file, "readTemplates()", "the name of the file");
  const { items, problems } = readJsonLines({ text, file }, readTemplate);
  if (problems.length > 0)
    throw new ToolError("invalid_argument", `${file} has lines that are not templates; nothing was run.`, {
      details: problems,
      hint: HINT,
    });
  if (items.length === 0) throw new ToolError("invalid_argument", `${file} has no templates: every line of it is blank.`, { hint: HINT });
  return items;
}

const HINT =
  'A line is like {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "calls": [{"name": "files::read", "input": {"path": "notes.md"}}]}]}.';

/** Reads one template from its JSON. @throws ToolError `invalid_argument` */
function readTemplate(value: JsonValue): ConversationTemplate {
  if (!isJsonObject(value)) throw templateError("A template must be a JSON object.");
  const unknownKey = Object.keys(value).find((key) => !TEMPLATE_KEYS.includes(key));
  if (unknownKey !== undefined)
    throw templateError(`${JSON.stringify(unknownKey)} is not a key of a template, which has "id", "system" and "messages".`);
  const { id, system, messages } = value;
  if (!isJsonArray(messages) || messages.length === 0) throw templateError('"messages" must be an array of at least one message.');
  const read = messages.map((message, index) => readMessage(message, `messages[${index}]`));
  if (!read.some(({ role }) => role !== "system")) throw templateError("it has no message of a user or the assistant.");
  const problems = findReferenceProblems(read);
  if (problems.length > 0) throw new ToolError("invalid_argument", problems[0] ?? "", { details: problems });
  return {
    ...(id === undefined ? {} : { id: readText(id, '"id"') }),
    ...(system === undefined || system === "" ? {} : { system: readText(system, '"system"') }),
    messages: read,
  };
}

function readMessage(value: JsonValue, at: string): TemplateMessage {
  if (!isJsonObject(value)) throw templateError(`${at} must be a JSON object.`);
  const role = readRole(value, at);
  const known = KEYS.get(role) ?? [];
  const unknownKey = Object.keys(value).find((key) => !known.includes(key));
  if (unknownKey !== undefined)
    throw templateError(`${at}: ${JSON.stringify(unknownKey)} is not a key of a message of ${JSON.stringify(role)}.`);
  const { content, calls } = value;
  if (role !== "assistant") return { role, content: readNonEmptyText(content, `${at}.content`) };
  if (isBlank(calls) && isBlank(content)) throw templateError(`${at} has neither "content" nor "calls".`);
  return {
    role,
    ...(content === undefined || content === null ? {} : { content: readText(content, `${at}.content`) }),
    ...(calls === undefined ? {} : { calls: readCalls(calls, at) }),
  };
}

function readRole({ role }: JsonObject, at: string): TemplateMessage["role"] {
  if (role === "user" || role === "system" || role === "assistant") return role;
  throw templateError(`${at}.role must be "user", "system" or "assistant", not ${role === undefined ? "missing" : JSON.stringify(role)}.`);
}

function readCalls(calls: JsonValue, at: string): readonly ToolCall[] {
  if (!isJsonArray(calls)) throw templateError(`${at}.calls must be an array of calls.`);
  return calls.map((call, index) => {
    const name = isJsonObject(call) ? call["name"] : undefined;
    if (!isJsonObject(call) || typeof name !== "string" || name === "")
      throw templateError(`${at}.calls[${index}] must be a call such as {"name": "files::read", "input": {"path": "notes.md"}}.`);
    const { id, input = {} } = call;
    return { ...(id === undefined ? {} : { id: readText(id, `${at}.calls[${index}].id`) }), name, input: readInput(input) };
  });
}

/** Returns the parsed object if the input is the JSON text of one, as OpenAI writes arguments: lines have the input as the tool takes it. */
function readInput(input: JsonValue): JsonValue {
  if (typeof input !== "string" || !/^\s*\{/u.test(input)) return input;
  try {
    return parseJson(input);
  } catch {
    return input; // the call reports the error
  }
}

function isBlank(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === "" || (isJsonArray(value) && value.length === 0);
}

/** Returns the text of a message; no provider accepts a message without text. */
function readNonEmptyText(value: JsonValue | undefined, what: string): string {
  const text = readText(value, what);
  if (text.trim() === "") throw templateError(`${what} is empty.`);
  return text;
}

function readText(value: JsonValue | undefined, what: string): string {
  if (typeof value === "string") return value;
  throw templateError(`${what} must be a string.`);
}

function templateError(problem: string): ToolError {
  return new ToolError("invalid_argument", problem);
}
