/** Checks a message that a program adds to a session. */
import { ToolError } from "../../core/error.ts";
import type { SessionMessage } from "../../core/message.ts";
import { copyContent } from "../copy-content.ts";

const ROLES = ["user", "assistant", "system", "document"] as const satisfies readonly SessionMessage["role"][];

/** A frozen copy. @throws ToolError `invalid_argument` */
export function readMessage(raw: unknown): SessionMessage {
  const fields = raw as Readonly<Record<string, unknown>>; // an object can be asked for any key; anything else is refused first
  if (typeof raw !== "object" || raw === null) throw wrong("an object with a role and content");
  const role = ROLES.find((known) => known === fields["role"]);
  if (role === undefined) throw wrong(`of one of the roles ${ROLES.join(", ")}`);
  const { content, title } = fields;
  if (title !== undefined && typeof title !== "string") throw wrong("with a title that is text");
  if (typeof content !== "string" && !Array.isArray(content)) throw wrong("with content that is text or a list of content parts");
  return Object.freeze({
    role,
    content: typeof content === "string" ? content : copyContent(content),
    ...(title === undefined ? {} : { title }),
  });
}

function wrong(expected: string): ToolError {
  return new ToolError("invalid_argument", `A message of a session is ${expected}.`, {
    hint: 'For example { role: "user", content: "Book a table for two." }.',
  });
}
