/** A program's log, wrapped so that an error of the log ends neither a call nor the work of a server. */
import { getOrAdd } from "../base/get-or-add.ts";
import { omitUndefined } from "../base/omit-undefined.ts";
import { ignoreRejection } from "./ignore-rejections.ts";
import type { Log, Ports } from "../ports.ts";
import { systemPorts } from "./system-ports.ts";

/** The wrapper of each log, so that those who share a log also share its limits. */
const SAFE_LOGS = new WeakMap<Log, Log>();

/** Wraps a log so that it never throws. There is nowhere left to report what it throws, so that is ignored. Returns the same wrapper for the same log. */
export function safeLog(log: Log): Log {
  return getOrAdd(SAFE_LOGS, log, () => {
    const safe: Log = {
      debug: (message, fields) => callSafely(() => log.debug(message, fields)),
      warn: (message, fields) => callSafely(() => log.warn(message, fields)),
    };
    SAFE_LOGS.set(safe, safe);
    return safe;
  });
}

/** The given ports, with those of the system for the others, and a log that never throws. */
export function completePorts(given: Partial<Ports> = {}): Ports {
  const ports = { ...systemPorts, ...omitUndefined(given) };
  return { ...ports, log: safeLog(ports.log) };
}

function callSafely(write: () => unknown): void {
  try {
    ignoreRejection(write());
  } catch {
    // there is nowhere left to report it
  }
}
