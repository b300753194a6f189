/** Whether a process is alive, and whether it is the server that this page talks to. */
import type { ReactNode } from "react";
import { Badge } from "../show/basic-components.tsx";
import type { Process } from "./use-fleet.ts";

/** How long a living process may be silent before it counts as late, in milliseconds: one and a half heartbeat intervals. */
const LATE_MS = 7_500;

export function ProcessState({ process: { alive, silentMs, own } }: { readonly process: Process }): ReactNode {
  return (
    <span className="badges">
      {!alive ? <Badge tone="bad">gone</Badge> : silentMs > LATE_MS ? <Badge tone="warn">late</Badge> : <Badge tone="good">alive</Badge>}
      {own && <Badge>this server</Badge>}
    </span>
  );
}
