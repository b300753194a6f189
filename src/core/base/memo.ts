/** Caches the values of functions of one string, for names that occur repeatedly. */

/** Maximum number of texts cached for one function; when it is exceeded, all are dropped. */
const MAX_KEPT = 20_000;
/** Maximum length of cached texts, in UTF-16 units. */
const MAX_LENGTH = 1_000;

/** Returns the same function with a cache: its value must depend on the text alone. */
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
