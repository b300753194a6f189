import { memoize } from "../../core/base/memoize.ts";
import { toolIntent, type ToolIntent } from "../../engine/example/tool-intent.ts";
import { nameWords, toSingular } from "../../schema/example/name-words.ts";

/**
 * Reads verb and noun from the name of a tool. The noun may come from the toolset's name only if that is a plural, such as `orders`; a noun with
 * digits, such as `v2`, is dropped.
 */
export const toolSubject = memoize((qualifiedName): ToolIntent => {
  const intent = toolIntent(qualifiedName);
  return isUsableNoun(intent.noun, qualifiedName) ? intent : { ...intent, noun: "" };
});

function isUsableNoun(noun: string, qualifiedName: string): boolean {
  if (noun === "" || /\d/u.test(noun)) return false;
  const at = qualifiedName.lastIndexOf("::");
  const last = noun.split("_").at(-1) ?? noun;
  if (at < 0 || nameWords(qualifiedName.slice(at + 2)).some((word) => toSingular(word) === last)) return true;
  const toolset = nameWords(qualifiedName.slice(0, at)).at(-1) ?? "";
  return toSingular(toolset) !== toolset;
}
