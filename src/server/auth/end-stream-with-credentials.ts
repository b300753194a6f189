/** A stream that ends when its reader's credentials end. */
import type { CredentialWatch } from "./credential-watch.ts";
import type { Principal } from "./principal.ts";

export interface StreamCredentialsOptions {
  readonly principal: Principal;
  readonly access: Pick<CredentialWatch, "watch">;
  /** Called once, when the stream has ended for any reason. */
  readonly onEnded?: () => void;
}

export function endStreamWithCredentials(
  source: ReadableStream<Uint8Array>,
  { principal, access, onEnded = () => {} }: StreamCredentialsOptions,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let isOver = false;
  let unwatch = (): void => {};
  const finish = (): boolean => {
    if (isOver) return false;
    isOver = true;
    unwatch();
    onEnded();
    return true;
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      unwatch = access.watch(principal, () => {
        if (!finish()) return;
        controller.close();
        void reader.cancel().catch(() => {}); // the source may have failed; its reader is done with it
      });
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done && !isOver) return controller.enqueue(value);
        if (done && finish()) controller.close();
      } catch (thrown: unknown) {
        if (finish()) controller.error(thrown);
      }
    },
    async cancel(reason) {
      finish();
      await reader.cancel(reason);
    },
  });
}
