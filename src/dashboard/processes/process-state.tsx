/** Whether a process lives, and whether it is the one that answers. */
import type { ReactNode } from "react";
import { Badge } from "../show/parts.tsx";
import type { Process } from "./use-fleet.ts";

/** One and a half times as long as a process that lives takes to say so. */
const LATE_MS = 7_500;

export function ProcessState({ process: { alive, silentMs, own } }: { readonly process: Process }): ReactNode {
  return (
    <span className="badges">
      {!alive ? <Badge tone="bad">gone</Badge> : silentMs > LATE_MS ? <Badge tone="warn">late</Badge> : <Badge tone="good">alive</Badge>}
      {own && <Badge>this server</Badge>}
    </span>
  );
}
