/** Whether a schedule wakes its agent, as a coloured word. */
import type { ReactNode } from "react";
import { Badge } from "../show/basic-components.tsx";
import type { Schedule } from "./schedule.ts";

export function ScheduleState({ schedule: { running, paused, error } }: { readonly schedule: Schedule }): ReactNode {
  if (paused === true) return <Badge>paused</Badge>;
  if (error !== undefined) return <Badge tone="bad">does not work</Badge>;
  return running ? <Badge tone="good">active</Badge> : <Badge tone="warn">no agent runs</Badge>;
}
