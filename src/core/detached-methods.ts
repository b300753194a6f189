/** Methods that are called without their object, as after `const { resume } = runtime`, say so in place of a TypeError on a field. */
import { ToolError } from "./error.ts";

export interface GuardedMethods {
  /** The name of such an object in programs: `runtime`. */
  readonly owner: string;
  /** The methods of programs, where the class has others. `execute` says it itself: it runs for each call. @default all but `execute` */
  readonly methods?: readonly string[];
  /** @default a `ToolError` `invalid_argument` */
  readonly error?: (message: string) => Error;
}

/** Replaces methods of a class by ones that look at `this` first: once for the class, so that no object has functions of its own. */
export function guardMethods(of: abstract new (...given: never[]) => object, { owner, methods, error }: GuardedMethods): void {
  for (const [name, { value: method, ...descriptor }] of Object.entries(Object.getOwnPropertyDescriptors(of.prototype))) {
    if (typeof method !== "function" || name === "constructor" || name === "execute" || methods?.includes(name) === false) continue;
    const guarded = function (this: unknown, ...given: readonly unknown[]): unknown {
      if (this instanceof of) return Reflect.apply(method, this, given);
      throw error?.(`${sentence(name, owner)} ${hint(name, owner)}`) ?? detached(name, owner);
    };
    Object.defineProperties(guarded, { name: { value: name }, toString: { value: () => String(method) } }); // it prints as the method
    Object.defineProperty(of.prototype, name, { ...descriptor, value: guarded });
  }
}

/** The error for a method that was called without its object. */
export function detached(method: string, owner: string): ToolError {
  return new ToolError("invalid_argument", sentence(method, owner), { hint: hint(method, owner) });
}

function sentence(method: string, owner: string): string {
  return `${method}() was called without its ${owner}: it was taken off the object.`;
}

function hint(method: string, owner: string): string {
  return `Call ${owner}.${method}(…), or keep (...given) => ${owner}.${method}(...given).`;
}
