/** Cancels a call that runs. */
import type { ReactNode } from "react";
import { CancelAction } from "../server/cancel-action.tsx";
import { useConnection } from "../server/use-server.ts";

export function CancelButton({ callId }: { readonly callId: string }): ReactNode {
  const { client } = useConnection();
  return (
    <CancelAction
      text="Cancel the call"
      cancel={() => client.call("cancelCall", { params: { callId }, body: { reason: "cancelled in the dashboard" } })}
      after={({ cancelled }) => !cancelled && <span className="muted">It does not run in this process any more.</span>}
    />
  );
}
