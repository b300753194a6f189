import { isObject } from "./base/is-object.ts";

/**
 * Returns the id of the principal for whom a call is made, which servers and resumed sessions put into `context.data`; undefined if there is none.
 */
export function principalIdOf({ principal }: Readonly<Record<string, unknown>>): string | undefined {
  const id: unknown = isObject(principal) && "id" in principal ? principal.id : undefined;
  return typeof id === "string" ? id : undefined;
}
