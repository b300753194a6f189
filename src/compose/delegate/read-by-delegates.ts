/** The tools whose results the delegates of a session have seen, those of delegates that still run included. */
import type { Session } from "../../session/session.ts";

interface Readers {
  readonly running: Set<() => Iterable<string>>;
  /** Of those that have ended: the result of their call may not be recorded yet. */
  readonly ended: Set<string>;
}

const READERS = new WeakMap<Session, Readers>();

/** Counts what a delegate has seen from now on. @param called returns the tools so far. Returns how that ends */
export function countDelegate(caller: Session, called: () => Iterable<string>): () => void {
  let readers = READERS.get(caller);
  if (readers === undefined) READERS.set(caller, (readers = { running: new Set(), ended: new Set() }));
  const { running, ended } = readers;
  running.add(called);
  return () => {
    for (const name of called()) ended.add(name);
    running.delete(called);
  };
}

/** Qualified names, some perhaps twice. */
export function readByDelegates(session: Session): readonly string[] {
  const readers = READERS.get(session);
  if (readers === undefined) return [];
  return [...readers.ended, ...[...readers.running].flatMap((called) => [...called()])];
}
