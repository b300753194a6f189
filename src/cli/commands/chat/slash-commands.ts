/** Slash commands of a chat. */
import { didYouMean } from "../../../core/base/near-names.ts";
import { plural } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import type { Registry } from "../../../registry/registry.ts";
import type { TriggerStatus } from "../../../triggers/session-triggers.ts";
import { columnWidth, toOneLine, safeJson, safeText, type Screen } from "../../terminal/terminal-text.ts";
import { lineWidth, countColumns, padColumns } from "../../terminal/text-width.ts";
import type { Chat } from "./chat.ts";
import { JOB_COMMANDS } from "./job-commands.ts";

const MAX_NAME_WIDTH = 40;
const MAX_SHOWN = 80;

export interface SlashContext {
  readonly chat: Chat;
  readonly registry: Registry;
  readonly screen: Screen;
}

/** Lines for the help of the command and for `/help`. */
export const SLASH_HELP: readonly string[] = [
  "  /tools   what the model may call     /usage  what the model used so far",
  "  /go      let the model continue      /clear  end an emergency stop",
  "  /jobs    what runs in the background /cancel <job>  cancel a job",
  "  /send <job> <text>  answer a job     /promote [call]  make a call a job",
  "  /triggers  what wakes the model      /remove <trigger>  remove a trigger",
  "  /help    these lines                 /exit   end the chat",
];

/** All slash commands. The chat itself handles `/go` and `/exit`. */
const NAMES = ["/tools", "/usage", "/go", "/clear", "/jobs", "/cancel", "/send", "/promote", "/triggers", "/remove", "/help", "/exit"];

const SLASH_COMMANDS: ReadonlyMap<string, (context: SlashContext) => readonly string[]> = new Map([
  ["/tools", toolLines],
  ["/usage", ({ chat }) => (chat.spent === "" ? ["No requests have been made yet."] : safeText(chat.spent).split("\n"))],
  ["/clear", clear],
  ["/triggers", triggerLines],
  ["/help", () => SLASH_HELP],
]);

/** Returns the answer to a line that begins with a slash; never rejects. */
export function runSlashCommand(text: string, context: SlashContext): readonly string[] | Promise<readonly string[]> {
  const [name = "", ...words] = text.split(/\s+/u);
  if (name === "/remove") return removeTrigger(context.chat, text.slice(name.length).trim());
  const command = JOB_COMMANDS.get(name);
  if (command !== undefined) return command(context, words, text.slice(name.length).trim());
  const answer = SLASH_COMMANDS.get(text);
  if (answer !== undefined) return answer(context);
  const shown = toOneLine(text, MAX_SHOWN);
  const meant = didYouMean(shown, NAMES, String) ?? "/help shows them.";
  return [`There is no command ${shown}. ${meant} To send a message that begins with a slash, put a space before it.`];
}

function toolLines({ registry, screen }: SlashContext): readonly string[] {
  const tools = registry.list();
  const widest = columnWidth(
    tools.map(({ qualifiedName }) => safeText(qualifiedName)),
    MAX_NAME_WIDTH,
  );
  return tools.map(({ qualifiedName, tool }) => {
    const name = `  ${padColumns(safeText(qualifiedName), widest)}  `;
    const left = lineWidth(screen) - widest - 4;
    const gap = countColumns(name) > widest + 4 ? `\n${" ".repeat(widest + 4)}` : "";
    return `${name}${gap}${screen.paint("dim", toOneLine(tool.description, left))}`.trimEnd();
  });
}

function clear({ chat }: SlashContext): readonly string[] {
  const { stopped } = chat;
  chat.clear();
  return [stopped === undefined ? "Nothing is stopped." : `Calls run again. ${safeText(stopped)}.`];
}

/** Lists the triggers of the session, in the order in which they were added. */
function triggerLines({ chat, screen }: SlashContext): readonly string[] {
  const list = chat.triggers?.list() ?? [];
  if (list.length === 0) return ["There are no triggers."];
  const width = lineWidth(screen);
  return list.map((one) => `  ${toOneLine(statusText(one), width - 2)}`);
}

function statusText({ id, type, settings, sent, paused, error }: TriggerStatus): string {
  const state = `${paused === true ? ", paused" : ""}${error === undefined ? "" : `, fails: ${error}`}`;
  return `${id}  ${type} ${safeJson(settings)}, ${plural(sent, "message")} sent${state}`;
}

const REMOVE_USAGE = "/remove <trigger>: /triggers shows their names.";

/** Removes a trigger by name. Resolves to the answer; never rejects. */
async function removeTrigger(chat: Chat, name: string): Promise<readonly string[]> {
  const { triggers, declared } = chat;
  if (name === "" || triggers === undefined) return [name === "" ? REMOVE_USAGE : "There are no triggers."];
  try {
    if (await triggers.remove(name)) {
      const again = declared.has(name) ? " It is in the configuration: the next chat has it again." : "";
      return [`${safeText(name)} is removed.${again}`];
    }
  } catch (thrown: unknown) {
    return [safeText(ToolError.fromUnknown(thrown).message)];
  }
  const known = triggers.list().map(({ id }) => id);
  return [`There is no trigger ${safeJson(name)}. ${didYouMean(name, known, safeJson) ?? "/triggers shows them."}`];
}
