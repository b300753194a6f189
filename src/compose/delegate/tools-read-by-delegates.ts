/** The tools whose results the delegates of a session have seen, including delegates that still run. */
import type { Session } from "../../session/session.ts";

interface DelegateReaders {
  readonly running: Set<() => Iterable<string>>;
  /** The tools of delegates that have ended: the result of their call may not be recorded yet. */
  readonly ended: Set<string>;
}

const READERS = new WeakMap<Session, DelegateReaders>();

/** Registers a running delegate, and returns a function that ends it. @param getToolsRead returns the tools whose results it has seen so far */
export function registerDelegate(caller: Session, getToolsRead: () => Iterable<string>): () => void {
  let readers = READERS.get(caller);
  if (readers === undefined) READERS.set(caller, (readers = { running: new Set(), ended: new Set() }));
  const { running, ended } = readers;
  running.add(getToolsRead);
  return () => {
    for (const name of getToolsRead()) ended.add(name);
    running.delete(getToolsRead);
  };
}

/** Returns qualified names, possibly with duplicates. */
export function toolsReadByDelegates(session: Session): readonly string[] {
  const readers = READERS.get(session);
  if (readers === undefined) return [];
  return [...readers.ended, ...[...readers.running].flatMap((called) => [...called()])];
}
