/** A log that whatever gives cause for warnings without end, such as a server, does not fill. */
import type { Clock, Log } from "./ports.ts";
import { plural } from "./base/wording.ts";

/** So many warnings a minute say all there is to say. */
const MAX_WARNINGS = 20;
const MINUTE_MS = 60_000;

/** A log that takes at most 20 warnings a minute; what it withheld is counted in the first warning after that. */
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
