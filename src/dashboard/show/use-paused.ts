/** A value that follows another once that has not changed for a moment. */
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
