/** The properties of the rows of a timeline. */
import type { SessionLog } from "./session-log.ts";
import type { TimeAxis } from "./time-axis.ts";

/** The visible part of the axis, from 0 to 1. */
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
