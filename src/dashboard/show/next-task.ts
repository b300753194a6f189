/** Splits long work into slices, between which the page renders and handles keys. */

/** Maximum length of a slice, in milliseconds. */
export const SLICE_MS = 12;

/** Resolves in a new task. A timer would wait 4 ms each time. */
export function waitForNextTask(): Promise<void> {
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
