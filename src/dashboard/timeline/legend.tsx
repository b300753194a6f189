/** The legend of colours, patterns and marks. */
import type { ReactNode } from "react";
import { ORIGIN_LABELS } from "./call-labels.ts";

const PIECES: readonly (readonly [name: string, says: string])[] = [
  ["lock", "lock"],
  ["slot", "slot"],
  ["approval", "approval"],
  ["failed bar-attempt", "failed attempt"],
  ["backoff", "pause"],
  ["late", "late"],
];

export function Legend(): ReactNode {
  return (
    <div className="legend" role="note" aria-label="Legend">
      {Object.entries(ORIGIN_LABELS).map(([origin, { mark }]) => (
        <span key={origin} className="legend-item">
          <span className={`origin origin-${origin}`} aria-hidden="true">
            {mark}
          </span>
          <span className={`legend-bar bar-attempt bar-${origin}`} aria-hidden="true" />
          {origin}
        </span>
      ))}
      <span className="legend-gap" />
      {PIECES.map(([name, says]) => (
        <span key={name} className="legend-item">
          <span className={`legend-bar bar-${name}`} aria-hidden="true" />
          {says}
        </span>
      ))}
    </div>
  );
}
