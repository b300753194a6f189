/** Prompts with placeholders for parts of a channel's message: `{sender} wrote: {content}`. */
import { getValueAtPath } from "../core/base/brace-template.ts";
import { firstChars } from "../core/base/truncate-text.ts";
import type { ChannelMessage } from "./channel-message.ts";
import { MAX_CONTENT_CHARS } from "./new-message.ts";
import { SettingsError } from "./settings-error.ts";
import { valueText } from "../core/content.ts";

const PLACEHOLDERS: Readonly<Record<string, (message: ChannelMessage) => string>> = {
  content: ({ content }) => content,
  channel: ({ channel }) => channel,
  sender: ({ sender }) => sender,
  message_id: ({ id }) => id,
};
const METADATA = "metadata.";
/** A word in single braces is a placeholder; double braces escape it. Other braces, such as those of JSON, are left unchanged. */
const WORD = /\{\{([A-Za-z_][\w.-]{0,200})\}\}|\{([A-Za-z_][\w.-]{0,200})\}/gu;

/** @throws ToolError `invalid_argument` for a placeholder that does not exist */
export function checkPromptTemplate(template: string): void {
  for (const [, , name] of template.matchAll(WORD)) {
    if (name === undefined || Object.hasOwn(PLACEHOLDERS, name) || (name.startsWith(METADATA) && name.length > METADATA.length)) continue;
    const known = [...Object.keys(PLACEHOLDERS), "metadata.<key>"].map((one) => `{${one}}`).join(", ");
    throw new SettingsError("prompt", `The prompt has the placeholder {${name}}, which does not exist.`, {
      hint: `Known placeholders: ${known}. Write {{${name}}} for the word in braces itself.`,
    });
  }
}

/** Maximum number of characters that the values of all placeholders may have together. */
const MAX_FILLED_CHARS = 2 * MAX_CONTENT_CHARS;

/**
 * Returns the prompt with its placeholders replaced; metadata that the message lacks becomes an empty text.
 *
 * A template may repeat a placeholder, so the values are cut after 16,777,216 characters in all: what is left out becomes "…".
 */
export function fillPromptTemplate(template: string, message: ChannelMessage): string {
  let room = MAX_FILLED_CHARS;
  return template.replace(WORD, (_all, literal: string | undefined, name: string = "") => {
    if (literal !== undefined) return `{${literal}}`;
    if (room <= 0) return "…";
    const value = firstChars(valueOf(name, message), room);
    room -= value.length;
    return value;
  });
}

function valueOf(name: string, message: ChannelMessage): string {
  const placeholder = Object.hasOwn(PLACEHOLDERS, name) ? PLACEHOLDERS[name] : undefined;
  return placeholder === undefined ? metadataText(message, name.slice(METADATA.length)) : placeholder(message);
}

/** Looks the whole path up as one key first, then each part of it one level deeper. */
function metadataText({ metadata }: ChannelMessage, path: string): string {
  if (Object.hasOwn(metadata, path)) return valueText(metadata[path]);
  return valueText(getValueAtPath(path.split("."), metadata));
}
