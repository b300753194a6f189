/** Rules for `Tool.supersedes`: which results a newer call of the toolset makes worthless to the model. */
import { checkArgument } from "../core/check-argument.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { PastCall, Supersedes } from "../core/tool.ts";

/**
 * Replaces older results about the same thing, however many calls of other things there are.
 *
 * @param locationOf what a call is about, such as the path of a file; undefined = the call takes no part
 * @param covers whether the newer call tells all that the older one does, when both are about the same; defaults to always
 */
export function supersedesAt(
  locationOf: (call: PastCall) => string | undefined,
  covers: (newer: PastCall, older: PastCall) => boolean = always,
): Supersedes {
  checkArgument(typeof locationOf === "function", "supersedesAt()", "a function that gives the place of a call", locationOf);
  checkArgument(typeof covers === "function", "supersedesAt(locationOf, covers)", "a function that compares two calls", covers);
  const supersedes = (newer: PastCall, older: PastCall): boolean => {
    const location = locationOf(newer);
    return location !== undefined && location === locationOf(older) && covers(newer, older);
  };
  return Object.assign(supersedes, { locationOf });
}

function always(): boolean {
  return true;
}

/** For tools whose answer depends on their input and the time only: the same call made again replaces the older result. */
export const supersedesSameInput: Supersedes = supersedesAt(({ name, input }) => `${name} ${canonicalJson(input)}`);
