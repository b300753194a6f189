/** Cancels a call that runs. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { failureOf } from "../server/connection.ts";
import { useConnection } from "../server/use-server.ts";

export function CancelButton({ callId }: { readonly callId: string }): ReactNode {
  const { client } = useConnection();
  const { mutate, isPending, error, data } = useMutation({
    mutationFn: () => client.call("cancelCall", { params: { callId }, body: { reason: "cancelled in the dashboard" } }),
  });
  return (
    <>
      <button type="button" className="button" disabled={isPending} onClick={() => mutate()}>
        Cancel the call
      </button>
      {error !== null && (
        <span className="inline-failure" role="alert">
          {failureOf(error).text}
        </span>
      )}
      {data?.cancelled === false && <span className="muted">It does not run in this process any more.</span>}
    </>
  );
}
