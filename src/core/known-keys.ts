/** Refuses unknown options by name: a misspelt limit is no limit. */
import { ToolError } from "./error.ts";
import { nearNames } from "./base/near-names.ts";
import { typeInWords, withArticle } from "./base/wording.ts";

/** Options by the names they had before. */
const RENAMED: ReadonlyMap<string, string> = new Map([["ladder", "answers"]]);

/** The names of all options of an interface, of each member of a union: the type lets none be forgotten. */
export type OptionNames<Options> = Readonly<Record<Options extends unknown ? keyof Options : never, unknown>>;

/** Refuses a value that is not an object, and unknown keys. @param owner for example `session()` @throws ToolError `invalid_argument` */
export function checkKnownKeys<Options extends object>(options: Options, known: OptionNames<Options>, owner: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new ToolError("invalid_argument", `The options of ${owner.replace(/^The /u, "the ")} are an object.`);
  const unknown = unknownKey(options, known, owner);
  if (unknown !== undefined) throw unknown;
}

/** The JSON word for the type of an option's value, or `function`. */
export type OptionType = "array" | "boolean" | "function" | "object" | "number" | "string";

/** The option types of an interface whose values have one type that nothing else checks. */
export type OptionTypes<Options> = { readonly [Name in keyof Options]?: OptionType | readonly OptionType[] };

/** Refuses options that are given and of another type. @param owner for example `createLoop()` @throws ToolError `invalid_argument` */
export function checkOptionTypes<Options extends object>(options: Options, types: OptionTypes<Options>, owner: string): void {
  for (const [name, type] of Object.entries<OptionType | readonly OptionType[] | undefined>(types)) {
    const value: unknown = Reflect.get(options, name);
    const wanted = typeof type === "string" ? [type] : (type ?? []);
    if (value === undefined || wanted.some((each) => hasType(value, each))) continue;
    const words = wanted.map(withArticle).join(" or ");
    throw new ToolError("invalid_argument", `The option ${JSON.stringify(name)} of ${owner} is ${words}, not ${typeInWords(value)}.`);
  }
}

function hasType(value: unknown, type: OptionType): boolean {
  if (type === "array") return Array.isArray(value);
  return type === "object" ? typeof value === "object" && value !== null && !Array.isArray(value) : typeof value === type;
}

/** The error for an unknown own key; undefined where there is none. Makes nothing else, for options that are given with each call. */
export function unknownKey(options: object, known: Readonly<Record<string, unknown>>, owner: string): ToolError | undefined {
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
