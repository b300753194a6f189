/** Listens for the abort of a signal that may have any number of listeners: `addEventListener` compares each new one with all before it. */

/**
 * Calls `listener` once when `signal` aborts, at once if it has aborted; many listeners of one signal share a single event listener. Returns a
 * function that removes it: it is then not called any more, even if another listener of the same abort removes it.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => {};
  }
  let listeners = LISTENERS.get(signal);
  if (listeners === undefined) {
    listeners = new Set();
    LISTENERS.set(signal, listeners);
    signal.addEventListener("abort", notifyAll);
  }
  listeners.add(listener);
  const joined = listeners;
  return () => removeListener(listener, { signal, listeners: joined });
}

const LISTENERS = new WeakMap<EventTarget, Set<() => void>>();

function notifyAll(event: Event): void {
  const signal = event.target; // Node.js sets the other target field only for the first listener
  if (signal === null) return;
  const listeners = LISTENERS.get(signal);
  LISTENERS.delete(signal);
  signal.removeEventListener("abort", notifyAll);
  for (const listener of listeners ?? []) listener();
}

/** Removes a listener, also from those that are being called. */
function removeListener(
  listener: () => void,
  { signal, listeners }: { readonly signal: AbortSignal; readonly listeners: Set<() => void> },
): void {
  if (!listeners.delete(listener) || listeners.size > 0 || LISTENERS.get(signal) !== listeners) return;
  LISTENERS.delete(signal);
  signal.removeEventListener("abort", notifyAll);
}
