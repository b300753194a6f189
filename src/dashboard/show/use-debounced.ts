/** Returns a value debounced: it follows `value` once that has not changed for `DEBOUNCE_MS`. */
import { useEffect, useState } from "react";

const DEBOUNCE_MS = 200;

export function useDebounced<Value>(value: Value): Value {
  const [debounced, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return debounced;
}
