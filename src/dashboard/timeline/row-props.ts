/** The properties that each row of a timeline is drawn with. */
import type { SessionLog } from "./session-log.ts";
import type { TimeAxis } from "./time-axis.ts";

/** The part of the axis that is looked at, from 0 to 1. */
export interface Zoom {
  readonly start: number;
  readonly end: number;
}

export interface RowProps {
  readonly axis: TimeAxis;
  readonly now: number;
  readonly zoom: Zoom;
  readonly log: SessionLog;
  readonly linkTo: (id: string) => string;
}
