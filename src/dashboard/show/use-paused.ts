/** Returns a value debounced: it follows `value` once that has not changed for `PAUSE_MS`. */
import { useEffect, useState } from "react";

const PAUSE_MS = 200;

export function usePaused<Value>(value: Value): Value {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}
