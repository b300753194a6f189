/**
 * Tools without a circuit, because the failure of a call says nothing about the next one: each may reach another server or another person, or fails
 * because of its session.
 */

const MARK = Symbol.for("haft.noCircuit");

/** Marks the handler of a tool. */
export function markNoCircuit<Handler extends object>(handler: Handler): Handler {
  return Object.defineProperty(handler, MARK, { value: true });
}

/** Marks tools of an engine, by name. */
export function markToolsWithoutCircuit<Owner extends object>(engine: Owner, toolNames: readonly string[]): Owner {
  return Object.defineProperty(engine, MARK, { value: toolNames });
}

/** Whether a tool with this handler, answered by this engine, was marked. */
export function isWithoutCircuit({ name, execute }: { readonly name: string; readonly execute?: object }, engine: object): boolean {
  if (execute !== undefined && Object.hasOwn(execute, MARK)) return true;
  const names: unknown = Object.hasOwn(engine, MARK) ? Reflect.get(engine, MARK) : undefined;
  return Array.isArray(names) && names.includes(name);
}
