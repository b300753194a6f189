/** Refuses options by names that mean nothing: a misspelt limit is no limit. */
import { ToolError } from "./error.ts";
import { nearNames } from "./base/near-names.ts";

/** Options by the names they had before. */
const RENAMED: ReadonlyMap<string, string> = new Map([["ladder", "answers"]]);

/** Refuses what is not an object, and keys that mean nothing. @param owner for example `session()` @throws ToolError `invalid_argument` */
export function checkKnownKeys(options: unknown, known: readonly string[], owner: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new ToolError("invalid_argument", `The options of ${owner} are an object.`);
  for (const key of Object.keys(options)) if (!known.includes(key)) throw unknownOption(key, known, owner);
}

/** The names of all options of an interface: with `Record<keyof Options, true>` none can be forgotten. */
export type OptionNames = Readonly<Record<string, true>>;

/** The error for an own key that means nothing; undefined where there is none. Makes nothing else, for options that are given with each call. */
export function unknownKey(options: object, known: OptionNames, owner: string): ToolError | undefined {
  for (const key in options)
    if (!Object.hasOwn(known, key) && Object.hasOwn(options, key)) return unknownOption(key, Object.keys(known), owner);
  return undefined;
}

function unknownOption(key: string, known: readonly string[], owner: string): ToolError {
  const renamed = RENAMED.get(key);
  const near = renamed !== undefined && known.includes(renamed) ? renamed : nearNames(key, known, 1)[0];
  return new ToolError("invalid_argument", `${owner} has no option ${JSON.stringify(key.slice(0, 100))}.`, {
    hint: near === undefined ? `There are ${known.join(", ")}.` : `Did you mean ${JSON.stringify(near)}?`,
  });
}
