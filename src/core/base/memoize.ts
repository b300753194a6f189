/** Caches the values of functions of one string, for names that occur repeatedly. */

/** Maximum number of texts cached for one function; when it is exceeded, all are dropped. */
const MAX_CACHED = 20_000;
/** Maximum length of cached texts, in UTF-16 units. */
const MAX_LENGTH = 1_000;

/** Returns the same function with a cache: its value must depend on the text alone. */
export function memoize<Value>(read: (text: string) => Value): (text: string) => Value {
  const cached = new Map<string, Value>();
  return (text) => {
    const known = cached.get(text);
    if (known !== undefined) return known;
    const value = read(text);
    if (cached.size >= MAX_CACHED) cached.clear();
    if (text.length <= MAX_LENGTH) cached.set(text, value);
    return value;
  };
}
