import { ToolError } from "../core/error.ts";
import { copyJson, isJsonArray, isJsonObject } from "../core/base/json.ts";
import type { NativeMessage, SessionMessage } from "../core/message.ts";
import { EVENT_LIMITS, MAX_ID_LENGTH } from "../core/recording/read-event.ts";
import { copyContent } from "./copy-content.ts";

const ROLES = ["user", "assistant", "system", "document"] as const satisfies readonly SessionMessage["role"][];

/** Checks a message that a program adds to a session, and returns a frozen copy. @throws ToolError `invalid_argument` */
export function readMessage(raw: unknown): SessionMessage {
  const fields = raw as Readonly<Record<string, unknown>>; // any key of an object may be read; other values are refused first
  if (typeof raw !== "object" || raw === null) throw invalidMessageError("an object with a role and content");
  const role = ROLES.find((known) => known === fields["role"]);
  if (role === undefined)
    throw invalidMessageError(`of one of the roles ${ROLES.join(", ")}; this is ${Array.isArray(raw) ? "an array" : describeRole(fields)}`);
  const { content, title, native, inboxId } = fields;
  if (title !== undefined && typeof title !== "string") throw invalidMessageError("an object whose title is a string");
  if (typeof content !== "string" && !Array.isArray(content))
    throw invalidMessageError("an object whose content is a string or an array of content parts");
  if (native !== undefined && role !== "assistant") throw invalidMessageError("from the assistant if it has a native form");
  if (inboxId !== undefined && (typeof inboxId !== "string" || inboxId === "" || inboxId.length > MAX_ID_LENGTH))
    throw invalidMessageError("an object whose inboxId is the id of an entry");
  return Object.freeze({
    role,
    content: typeof content === "string" ? content : copyContent(content),
    ...(title === undefined ? {} : { title }),
    ...(inboxId === undefined ? {} : { inboxId }),
    ...(native === undefined ? {} : { native: readNative(native) }),
  });
}

/** Returns a frozen copy of a message in its provider's form. @throws ToolError `invalid_argument`, `not_json`, `too_large` */
export function readNative(raw: unknown): NativeMessage {
  const { value } = copyJson(raw, EVENT_LIMITS);
  const format = isJsonObject(value) ? value["format"] : undefined;
  const blocks = isJsonObject(value) ? value["blocks"] : undefined;
  const container = isJsonObject(value) ? value["container"] : undefined;
  if (typeof format !== "string" || format === "" || !isJsonArray(blocks))
    throw invalidMessageError("an object whose native form has a format and blocks");
  if (container !== undefined && (typeof container !== "string" || container === "" || container.length > MAX_ID_LENGTH))
    throw invalidMessageError("an object whose native form has an id as its container");
  return Object.freeze({ format, blocks, ...(container === undefined ? {} : { container }) });
}

function invalidMessageError(expected: string): ToolError {
  return new ToolError("invalid_argument", `A message of a session must be ${expected}.`, {
    hint: 'For example { role: "user", content: "Book a table for two." }.',
  });
}

function describeRole({ role }: Readonly<Record<string, unknown>>): string {
  return typeof role === "string" ? `of the role ${JSON.stringify(role.slice(0, 100))}` : "an object without a role";
}
