import type { JsonValue } from "../../core/base/json.ts";
import { TYPE_BIT } from "./constraints.ts";
import type { Literal } from "./described-literals.ts";

const NUMBER = /^-?\d{1,15}(?:\.\d{1,10})?$/u;
const BOOLEAN = /^(?:true|false)$/iu;

/** Yields the JSON values that a literal of a description may mean, most likely first. @param types bits as in `Constraints` */
export function* literalValues({ text, quoted }: Literal, types: number): Generator<JsonValue, undefined> {
  const isNumber = NUMBER.test(text) && (types & (TYPE_BIT.fraction | TYPE_BIT.integer)) !== 0;
  const isBoolean = BOOLEAN.test(text) && (types & TYPE_BIT.boolean) !== 0;
  const isText = (types & TYPE_BIT.string) !== 0;
  if (quoted && isText) yield text;
  if (isNumber) yield Number(text);
  if (isBoolean) yield text.toLowerCase() === "true";
  if (!quoted && isText) yield text;
}
