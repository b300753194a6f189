/** Long work in slices, between which the page draws and takes keys. */

/** So long may one slice be, in milliseconds. */
export const SLICE_MS = 12;

/** Continues in a task of its own. A timer would wait 4 ms each time. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener("message", () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
}
