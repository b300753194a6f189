/** A session as Markdown for a person: its messages, and each call with its input and its result. */
import { maxOf } from "../../core/collections/push-all.ts";
import { firstCharacters } from "../show/text-pieces.ts";
import { formatFullTime, formatDuration } from "../show/format.ts";
import { callName, type CallEntry } from "./call-entry.ts";
import type { SessionLog } from "./session-log.ts";

const MAX_BLOCK = 20_000;

export function formatSessionMarkdown(sessionId: string, log: SessionLog): string {
  const parts = [`# ${escapeMarkdown(sessionId)}`];
  for (const { entry, depth } of log.rows())
    parts.push(entry.kind === "message" ? `**${entry.role}:** ${formatQuote(entry.text)}` : formatCall(entry, depth, log.isTimeless));
  return `${parts.join("\n\n")}\n`;
}

function formatCall(entry: CallEntry, depth: number, isTimeless: boolean): string {
  const { result, call, input } = entry;
  const facts = [
    result?.status ?? "not ended",
    ...(result === undefined || isTimeless ? [] : [`${result.origin}, ${formatDuration(result.durationMs)}`, formatFullTime(entry.at)]),
    ...(entry.undone === undefined ? [] : [entry.undone]),
  ];
  const parts = [
    `${"#".repeat(Math.min(6, depth + 2))} ${escapeMarkdown(callName(entry))}`,
    facts.join(" · "),
    formatCodeBlock("json", JSON.stringify(input ?? call.input ?? {}, undefined, 2)),
  ];
  for (const { path, kind } of result?.repairs ?? []) parts.push(`Repaired ${escapeMarkdown(path)}: ${kind}.`);
  if (result?.error !== undefined) parts.push(`Failed with \`${result.error.code}\`: ${formatQuote(result.error.message)}`);
  if (result?.output !== undefined)
    parts.push(
      typeof result.output === "string"
        ? formatCodeBlock("text", result.output)
        : formatCodeBlock("json", JSON.stringify(result.output, undefined, 2)),
    );
  for (const part of result?.content ?? []) parts.push(part.type === "text" ? formatCodeBlock("text", part.text) : `[${part.type}]`);
  return parts.join("\n\n");
}

/** Formats a code block. Its fence is longer than any run of backticks in the text, so that the text cannot end it. */
function formatCodeBlock(kind: string, text: string): string {
  const shown = text.length > MAX_BLOCK ? `${firstCharacters(text, MAX_BLOCK)}\n… ${text.length - MAX_BLOCK} more characters` : text;
  const longest = Math.max(2, maxOf([...shown.matchAll(/`+/gu)].map(([marks]) => marks.length)));
  const fence = "`".repeat(longest + 1);
  return `${fence}${kind}\n${shown}\n${fence}`;
}

/** Escapes third-party text so that nothing in it is Markdown. */
function formatQuote(text: string): string {
  return escapeMarkdown(text, "\n> ");
}

function escapeMarkdown(text: string, lineEnd = " "): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|!~&]/gu, "\\$&").replaceAll(/(?<!\s)\s*\n\s*/gu, lineEnd);
}
