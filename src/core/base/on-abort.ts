/** Listens for the abort of a signal that may have any number of listeners: `addEventListener` compares each new one with all before it. */

/** Calls `listener` once when `signal` aborts; many listeners of one signal share a single event listener. */
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
  return () => removeListener(signal, listener);
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

function removeListener(signal: AbortSignal, listener: () => void): void {
  const listeners = LISTENERS.get(signal);
  if (listeners === undefined || !listeners.delete(listener) || listeners.size > 0) return;
  LISTENERS.delete(signal);
  signal.removeEventListener("abort", notifyAll);
}
