import { isObject } from "./base/is-object.ts";

/** The id of the principal that a call is made for, as servers and resumed sessions put it into `context.data`; undefined where there is none. */
export function principalIdOf({ principal }: Readonly<Record<string, unknown>>): string | undefined {
  const id: unknown = isObject(principal) && "id" in principal ? principal.id : undefined;
  return typeof id === "string" ? id : undefined;
}
