import type { SessionMessage } from "../../core/message.ts";
import { partText } from "../../core/result.ts";
import { wrap, type Screen } from "../terminal/terminal-text.ts";

const SPEAKERS = { user: "user", system: "system", assistant: "model", document: "text" } as const satisfies Record<
  SessionMessage["role"],
  string
>;
export interface MessageStyle {
  readonly screen: Screen;
  readonly width: number;
}

/** The indent of text after the speaker. */
const MARGIN = "        ";

/** Prints a message next to its speaker. */
export function printMessage({ screen, width }: MessageStyle, { role, content, title }: SessionMessage): void {
  const speaker = screen.paint("bold", SPEAKERS[role].padEnd(6));
  const text = typeof content === "string" ? content : content.map(partText).join("\n");
  const [first = "", ...rest] = wrap(title === undefined ? text : `${title}\n${text}`, width - MARGIN.length);
  screen.print(`\n${`${speaker}  ${first}`.trimEnd()}`);
  for (const line of rest) screen.print(`${MARGIN}${line}`.trimEnd());
}
