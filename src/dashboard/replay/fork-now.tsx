/** Begins a branch of the session as it is now, and goes to it. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { InlineFailure } from "../server/inline-failure.tsx";
import { newKey } from "../server/new-key.ts";
import { useConnection } from "../server/use-server.ts";
import { sessionPath, useGo } from "../show/address.ts";

export function ForkNow({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useConnection();
  const go = useGo();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => client.call("forkSession", { params: { sessionId }, body: {}, idempotencyKey: newKey() }),
    onSuccess: ({ id }) => go(sessionPath(id)),
  });
  return (
    <>
      <button type="button" className="button" disabled={isPending} onClick={() => mutate()}>
        Fork the session as it is now
      </button>
      <InlineFailure error={error} />
    </>
  );
}
