import { DEFAULT_NAMESPACE, splitName } from "../core/call.ts";

/** The name as a program writes it: tools without a toolset of their own have no namespace. */
export function formatToolName(qualifiedName: string): string {
  const { namespace, name } = splitName(qualifiedName);
  return namespace === undefined || namespace === DEFAULT_NAMESPACE ? name : qualifiedName;
}
