/** Parses values that a reader types. Refuses a text that would be sent as another value, so that the shown value is the one that is sent. */

/** The value of a text, undefined if it is empty; or the reason why it has none. */
export type TypedValue = { readonly value: unknown; readonly problem?: undefined } | { readonly problem: string };

export function parseTypedNumber(text: string): TypedValue {
  const typed = text.trim();
  if (typed === "") return { value: undefined };
  const value = Number(typed);
  if (Number.isNaN(value)) return { problem: "This is not a number." };
  return isExact(value, typed) ? { value } : { problem: formatTooLong(typed) };
}

export function parseTypedJson(text: string): TypedValue {
  if (text.trim() === "") return { value: undefined };
  const inexact: string[] = [];
  try {
    // The third argument has the text of the number.
    const value: unknown = JSON.parse(text, (_key, one: unknown, context?: { readonly source?: string }) => {
      if (typeof one === "number" && context?.source !== undefined && !isExact(one, context.source)) inexact.push(context.source);
      return one;
    });
    const [first] = inexact;
    return first === undefined ? { value } : { problem: formatTooLong(first) };
  } catch (thrown: unknown) {
    return { problem: `This is not JSON: ${thrown instanceof Error ? thrown.message.slice(0, 200) : String(thrown)}` };
  }
}

function isExact(value: number, text: string): boolean {
  return Number.isFinite(value) && (!/^-?\d+$/u.test(text) || BigInt(value) === BigInt(text));
}

function formatTooLong(text: string): string {
  return `A number does not keep all digits of ${text.slice(0, 40)}. Send it as a string, where the tool takes one.`;
}
