/** Refuses arguments of the wrong type at once, before they fail somewhere else: programs without a type checker call this package too. */
import { ToolError, isToolError } from "./error.ts";
import { ignoreRejection } from "./system/ignore-rejections.ts";
import { describeValueKind, quoteValue } from "./base/wording.ts";

const NOT_AWAITED = "A promise was given: put await before it.";

/**
 * Returns the error for a value of the wrong type: `… takes a registry, not a promise.`
 *
 * @param sentence the beginning of the message, which says what is accepted: `buildPrompt() takes a registry`
 */
export function wrongTypeError(sentence: string, given: unknown, hint?: string): ToolError {
  const kind = describeValueKind(given);
  const shown = kind === "a promise" ? NOT_AWAITED : hint;
  return new ToolError("invalid_argument", `${sentence}, not ${kind}.`, shown === undefined ? {} : { hint: shown });
}

/** The error of a program's function that has returned something else than it may. @param sentence says what it returns */
export function wrongReturnError(sentence: string, returned: unknown): ToolError {
  const shown = quoteValue(returned);
  const hint = shown === "a promise" ? { hint: "Let the function return the value itself: it is not awaited, so it cannot be async." } : {};
  return new ToolError("invalid_argument", `${sentence}, not ${shown}.`, hint);
}

/**
 * Refuses an argument unless `fits` is true.
 *
 * @param words for what is accepted: `the path of a file: a string`
 * @throws ToolError `invalid_argument`
 */
export function checkArgument(fits: boolean, owner: string, words: string, given: unknown, hint?: string): void {
  if (!fits) throw wrongTypeError(`${owner} takes ${words}`, given, hint);
}

/** Refuses a value that is not a string. @param name for example `a path` @throws ToolError `invalid_argument` */
export function checkString(given: unknown, owner: string, name: string): void {
  checkArgument(typeof given === "string", owner, `${name} as a string`, given);
}

/** Whether an object has these methods. Objects of another copy of this package have them too. */
export function hasMethods(given: unknown, ...names: readonly string[]): boolean {
  return typeof given === "object" && given !== null && names.every((name) => typeof Reflect.get(given, name) === "function");
}

/** Refuses a value that is not a runtime. @throws ToolError `invalid_argument` */
export function checkRuntime(given: unknown, owner: string): void {
  checkArgument(hasMethods(given, "session", "execute", "subscribe"), owner, "a runtime", given, runtimeHint(given));
}

function runtimeHint(given: unknown): string {
  if (hasMethods(given, "execute", "fork"))
    return "This is a session: give its runtime. Adapters take the session as an option, { session }.";
  const isTool = typeof given === "object" && given !== null && "inputSchema" in given;
  return isTool ? "This is a tool: createRuntime({ tools: [tool] }) makes a runtime of it." : "createRuntime() makes one.";
}

/** Refuses a value that is not a registry of tools. @throws ToolError `invalid_argument` */
export function checkRegistry(given: unknown, owner: string): void {
  checkArgument(hasMethods(given, "resolve", "overloads"), owner, "a registry of tools", given, "A runtime has one: runtime.registry.");
}

/** Refuses a value that is not a store. @throws ToolError `invalid_argument` */
export function checkStore(given: unknown, owner: string): void {
  checkArgument(hasMethods(given, "open", "read"), owner, "a store", given, "memoryStore(), sqliteStore() and postgresStore() make one.");
}

/** Refuses a value that is not a session. @throws ToolError `invalid_argument` */
export function checkSession(given: unknown, owner: string): void {
  checkArgument(hasMethods(given, "execute", "fork"), owner, "a session", given, "runtime.session() begins one.");
}

/**
 * Refuses what is given as the reason why a call does not run: without a ToolError the call could have no result.
 *
 * @throws ToolError `invalid_argument`
 */
export function checkRefusal(given: unknown, owner: string, what: string): void {
  ignoreRejection(given);
  if (!isToolError(given)) throw wrongTypeError(`${owner} ${what}`, given, 'Give new ToolError("permission_denied", "…"), or undefined.');
}

/** Refuses a value that is not the result of a call. @throws ToolError `invalid_argument` */
export function checkResult(given: unknown, owner: string): void {
  const fits = typeof given === "object" && given !== null && "status" in given;
  checkArgument(fits, owner, "the result of a call", given, "runtime.execute() and session.execute() resolve to results.");
}

/** Refuses a value that is not a registered tool. @throws ToolError `invalid_argument` */
export function checkRegistered(given: unknown, owner: string): void {
  const fits = typeof given === "object" && given !== null && "tool" in given && "qualifiedName" in given;
  checkArgument(fits, owner, "a registered tool", given, "runtime.registry.require(name) returns one, and list() returns all of them.");
}

/** Refuses a value that is not a model. @throws ToolError `invalid_argument` */
export function checkModel(given: unknown, owner: string, words: string = "a model"): void {
  const hint = "Create one with modelFrom() of haft/model; models of other libraries do not work here.";
  checkArgument(hasMethods(given, "stream"), owner, words, given, hint);
}
