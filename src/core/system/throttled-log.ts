/** A log with a rate limit, for sources that can produce warnings without end, such as a server. */
import type { Clock, Log } from "../ports.ts";
import { plural } from "../base/wording.ts";

/** Maximum number of warnings a minute. */
const MAX_WARNINGS = 20;
const MINUTE_MS = 60_000;

/** Returns a log that passes on at most 20 warnings a minute; the first warning after that minute is preceded by the number withheld. */
export function throttledLog(log: Log, clock: Clock): Log {
  let startedAt = -Infinity;
  let count = 0;
  return {
    debug: (message, fields) => log.debug(message, fields),
    warn: (message, fields) => {
      const now = clock.now();
      if (now - startedAt >= MINUTE_MS) {
        const withheld = count - MAX_WARNINGS;
        if (withheld > 0)
          log.warn(
            `${plural(withheld, "more warning of this kind was", "more warnings of this kind were")} withheld in the minute before.`,
          );
        startedAt = now;
        count = 0;
      }
      if (++count <= MAX_WARNINGS) log.warn(message, fields);
    },
  };
}
