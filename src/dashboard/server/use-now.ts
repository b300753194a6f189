import { useEffect, useState } from "react";
import { useConnection } from "./use-connection.ts";

/** Returns the current time of the server, and renders again when it changes. @param everyMs how often it is updated; undefined = never */
export function useNow(everyMs: number | undefined): number {
  const { now: readNow } = useConnection();
  const [now, setNow] = useState(readNow);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setNow(readNow());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, readNow]);
  return now;
}
