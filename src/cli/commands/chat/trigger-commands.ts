/** The lines of a chat that are for the triggers of its session. */
import { ToolError } from "../../../core/error.ts";
import { didYouMean } from "../../../core/base/near-names.ts";
import { plural } from "../../../core/base/wording.ts";
import type { TriggerStatus } from "../../../triggers/session-triggers.ts";
import { oneLine, safeJson, safeText, type Screen } from "../../terminal/terminal-text.ts";
import type { Chat } from "./chat.ts";
import { lineWidth } from "../../terminal/text-width.ts";

const USAGE = "/remove <trigger>: /triggers shows their names.";

/** The triggers of the session, in the order they were added. */
export function triggerLines({ chat, screen }: { readonly chat: Chat; readonly screen: Screen }): readonly string[] {
  const list = chat.triggers?.list() ?? [];
  if (list.length === 0) return ["There are no triggers."];
  const width = lineWidth(screen);
  return list.map((one) => `  ${oneLine(statusText(one), width - 2)}`);
}

function statusText({ id, type, settings, sent, paused, error }: TriggerStatus): string {
  const state = `${paused === true ? ", paused" : ""}${error === undefined ? "" : `, fails: ${error}`}`;
  return `${id}  ${type} ${safeJson(settings)}, ${plural(sent, "message")} sent${state}`;
}

/** Removes the trigger that is named. Resolves to the answer; never rejects. */
export async function removeTrigger(chat: Chat, name: string): Promise<readonly string[]> {
  const { triggers, declared } = chat;
  if (name === "" || triggers === undefined) return [name === "" ? USAGE : "There are no triggers."];
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
