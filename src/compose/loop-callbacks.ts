/** The functions among the options of a loop: what they return is checked, because an untyped program may return a promise. */
import { wrongReturnError } from "../core/check-argument.ts";
import { ignoreRejections } from "../core/system/ignore-rejections.ts";
import { copyLoopOptions, type LoopOptions } from "./loop-options.ts";

type CallbackName = "system" | "tools" | "allow" | "toolChoice" | "cost";
type Check = (returned: unknown) => boolean;

const CHOICES: ReadonlySet<unknown> = new Set([undefined, "auto", "none", "required"]);

const RETURNS: Readonly<Record<CallbackName, readonly [words: string, fits: Check]>> = {
  system: ["a string", (returned) => returned === undefined || typeof returned === "string"],
  tools: ["an array of tools", Array.isArray],
  allow: ["rules of visibility or undefined", (returned) => returned === undefined || (isPlain(returned) && typeof returned === "object")],
  toolChoice: ['"auto", "none", "required" or { tool: "name" }', (returned) => CHOICES.has(returned) || namesTool(returned)],
  cost: ["a number of at least 0", (returned) => typeof returned === "number" && Number.isFinite(returned) && returned >= 0],
};

/**
 * Returns the options with functions that throw `invalid_argument` for a value of the wrong type. A promise would be sent to the model as the prompt,
 * or leave a budget of cost without effect; its rejection would end the process.
 */
export function withCheckedCallbacks(given: LoopOptions): LoopOptions {
  const options = copyLoopOptions(given);
  const checked: Partial<Record<CallbackName, (...given: readonly never[]) => unknown>> = {};
  for (const name of Object.keys(RETURNS) as CallbackName[]) {
    const callback = options[name];
    if (typeof callback === "function") checked[name] = checkReturned(callback, name);
  }
  return { ...options, ...(checked as Partial<LoopOptions>) }; // each calls the function of the same name, and returns what that returns
}

function checkReturned(callback: (...given: never[]) => unknown, name: CallbackName): (...given: readonly never[]) => unknown {
  const [words, fits] = RETURNS[name];
  return (...given) => {
    const returned = callback(...given);
    if (fits(returned)) return returned;
    ignoreRejections(returned);
    throw wrongReturnError(`${name}() of createLoop() returns ${words}`, returned);
  };
}

function isPlain(value: unknown): boolean {
  return value !== null && !(value instanceof Promise);
}

function namesTool(value: unknown): boolean {
  return typeof value === "object" && value !== null && "tool" in value && typeof value.tool === "string";
}
