/** Values that the browser keeps for the tab (`session`) or for the host (`local`), or the page alone if the browser refuses to keep any. */

type Kind = "session" | "local";

const ownValues = { session: new Map<string, string>(), local: new Map<string, string>() };

/** Calls `use` with the storage, whose getter throws where the reader has blocked all data of sites; returns undefined then. */
function withStorage<Value>(kind: Kind, use: (storage: Storage) => Value): Value | undefined {
  try {
    return use(kind === "session" ? sessionStorage : localStorage);
  } catch {
    return undefined; // the page keeps the value itself
  }
}

export function readStored(kind: Kind, name: string): string | undefined {
  return withStorage(kind, (storage) => storage.getItem(name)) ?? ownValues[kind].get(name);
}

export function storeValue(kind: Kind, name: string, value: string): void {
  const isKept = withStorage(kind, (storage) => {
    storage.setItem(name, value);
    return true;
  });
  if (isKept !== true) ownValues[kind].set(name, value);
}

export function forgetStored(kind: Kind, name: string): void {
  ownValues[kind].delete(name);
  withStorage(kind, (storage) => storage.removeItem(name));
}
