/** Converts the session's earlier calls to a conversation for the model that plays a tool. */
import type { HistoryEntry } from "../../core/history.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import { callText } from "./prompt.ts";

export interface HistoryLimits {
  readonly maxEntries: number;
  /** Maximum number of characters of both messages of all entries. */
  readonly maxChars: number;
}

export interface HistoryMessages {
  /** The message of the user. */
  readonly call: string;
  /** The message of the assistant. */
  readonly result: string;
}

/**
 * The newest entries within the limits, the oldest first. The first entry that is too long ends the list. Calls answered from any source are
 * included; calls that are still running are not.
 *
 * @param toolOf returns the definition of a qualified name, and of overloads that for the input; undefined if it is not known
 */
export function selectHistory(
  history: readonly HistoryEntry[],
  { maxEntries, maxChars }: HistoryLimits,
  toolOf: (name: string, input: unknown) => Tool | undefined,
): readonly HistoryMessages[] {
  const shown: HistoryMessages[] = [];
  let left = maxChars;
  for (let at = history.length - 1; at >= 0 && shown.length < maxEntries; at--) {
    const { call, input, result } = history[at] ?? {};
    if (call === undefined || result === undefined) continue;
    const { name } = result;
    const ran = input ?? call.input;
    const entry = {
      call: callText({ name, input: ran, tool: toolOf(name, ran) }),
      result: JSON.stringify(toModelAnswer(result)),
    };
    left -= entry.call.length + entry.result.length;
    if (left < 0) break;
    shown.push(entry);
  }
  return shown.reverse();
}

/** The result in the form in which the model would have answered. */
function toModelAnswer({ error, output, content }: ToolResult): JsonObject {
  if (error !== undefined) return { error: error.message };
  if (isJsonObject(output)) return output;
  return { result: output ?? content?.map(partText).join("\n") ?? null };
}
