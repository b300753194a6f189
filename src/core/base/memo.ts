/** Functions of one text whose values are kept, for names that come again and again. */

/** Texts that are kept of one function; when there are more, all are forgotten. */
const MAX_KEPT = 20_000;
/** Longer texts are not kept. */
const MAX_LENGTH = 1_000;

/** The same function, which is asked once for equal texts: its value must depend on the text alone. */
export function memo<Value>(read: (text: string) => Value): (text: string) => Value {
  const kept = new Map<string, Value>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const value = read(text);
    if (kept.size >= MAX_KEPT) kept.clear();
    if (text.length <= MAX_LENGTH) kept.set(text, value);
    return value;
  };
}
