/** The subject of a tool, as a noun for texts. */
import { toolIntent, type ToolIntent } from "../../engine/example/tool-intent.ts";
import { nameWords, singular } from "../../schema/example/name-words.ts";

const kept = new Map<string, ToolIntent>();
const MAX_KEPT = 20_000;

/**
 * Reads the name of a tool. The name of its toolset replaces its noun only where that is a word for many, such as `orders`;
 * a noun with digits, such as `v2`, is none.
 */
export function toolSubject(qualifiedName: string): ToolIntent {
  let subject = kept.get(qualifiedName);
  if (subject !== undefined) return subject;
  const intent = toolIntent(qualifiedName);
  subject = isWord(intent.noun, qualifiedName) ? intent : { ...intent, noun: "" };
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(qualifiedName, subject);
  return subject;
}

function isWord(noun: string, qualifiedName: string): boolean {
  if (noun === "" || /\d/u.test(noun)) return false;
  const at = qualifiedName.lastIndexOf("::");
  const last = noun.split("_").at(-1) ?? noun;
  if (at < 0 || nameWords(qualifiedName.slice(at + 2)).some((word) => singular(word) === last)) return true;
  const toolset = nameWords(qualifiedName.slice(0, at)).at(-1) ?? "";
  return singular(toolset) !== toolset;
}
