import { DEFAULT_NAMESPACE, splitName } from "../core/call.ts";

/** As a program gives it: tools that belong to no toolset of their own have no namespace there. */
export function shownName(qualifiedName: string): string {
  const { namespace, name } = splitName(qualifiedName);
  return namespace === undefined || namespace === DEFAULT_NAMESPACE ? name : qualifiedName;
}
