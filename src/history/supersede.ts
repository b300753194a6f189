/** Rules for `Tool.supersedes`: which results a newer call of the toolset makes worthless to the model. */
import { checkArgument } from "../core/check-argument.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { PastCall, Supersedes } from "../core/tool.ts";

/**
 * Makes a rule by which a call supersedes older results about the same thing, however many calls about other things are between them.
 *
 * @param locationOf what a call is about, such as the path of a file; undefined = the rule does not apply to the call
 * @param covers whether the newer call includes everything that the older one has, if both are about the same thing; defaults to always
 */
export function supersedesAt(
  locationOf: (call: PastCall) => string | undefined,
  covers: (newer: PastCall, older: PastCall) => boolean = alwaysCovers,
): Supersedes {
  checkArgument(typeof locationOf === "function", "supersedesAt()", "a function that gives the place of a call", locationOf);
  checkArgument(typeof covers === "function", "supersedesAt(locationOf, covers)", "a function that compares two calls", covers);
  const supersedes = (newer: PastCall, older: PastCall): boolean => {
    const location = locationOf(newer);
    return location !== undefined && location === locationOf(older) && covers(newer, older);
  };
  return Object.assign(supersedes, { locationOf });
}

function alwaysCovers(): boolean {
  return true;
}

/** For tools whose answer depends only on their input and the time: repeating a call supersedes the older result. */
export const supersedesSameInput: Supersedes = supersedesAt(({ name, input }) => `${name} ${canonicalJson(input)}`);
