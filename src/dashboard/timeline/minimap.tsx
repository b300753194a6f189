/** The whole session in one line: drag over a part to look at it, or move and narrow it by keys; double-click for the whole. */
import { useEffect, useRef, useState, type PointerEvent, type ReactNode } from "react";
import { LEAST_PART, WHOLE, zoomAfterBrushKey } from "./brush.ts";
import type { Entry } from "./session-log.ts";
import type { TimeAxis } from "./time-axis.ts";
import type { Zoom } from "./row-props.ts";

interface MinimapProps {
  readonly entries: readonly Entry[];
  readonly axis: TimeAxis;
  readonly now: number;
  readonly version: number;
  readonly zoom: Zoom;
  readonly onZoom: (zoom: Zoom) => void;
}

const COLUMNS = 400;

export function Minimap({ entries, axis, now, version, zoom, onZoom }: MinimapProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<readonly [number, number]>();
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, entries, axis, now);
  }, [entries, axis, now, version]);
  const placeOf = ({ clientX, currentTarget }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / width));
  };
  const [start, end] = drag === undefined ? [zoom.start, zoom.end] : [Math.min(...drag), Math.max(...drag)];
  return (
    <div className="minimap">
      <div
        className="minimap-track"
        role="slider"
        tabIndex={0}
        aria-label="Shown part of the time"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent((zoom.start + zoom.end) / 2)}
        aria-valuetext={`From ${percent(zoom.start)} to ${percent(zoom.end)} percent`}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const next = zoomAfterBrushKey(event.key, zoom);
          if (next === undefined) return;
          event.preventDefault();
          onZoom(next);
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([placeOf(event), placeOf(event)]);
        }}
        onPointerMove={(event) => drag !== undefined && setDrag([drag[0], placeOf(event)])}
        onPointerUp={() => {
          if (end - start > LEAST_PART) onZoom({ start, end });
          setDrag(undefined);
        }}
        onDoubleClick={() => onZoom(WHOLE)}
      >
        <canvas ref={canvas} width={COLUMNS} height={28} />
        {(start > 0 || end < 1) && <span className="brush" style={{ left: `${start * 100}%`, width: `${(end - start) * 100}%` }} />}
      </div>
      {(zoom.start > 0 || zoom.end < 1) && (
        <button type="button" className="button button-quiet minimap-whole" onClick={() => onZoom(WHOLE)}>
          Whole time
        </button>
      )}
    </div>
  );
}

function percent(share: number): number {
  return Math.round(share * 100);
}

/** How much ran at each place, as columns; those in which something failed have another colour. */
function draw(canvas: HTMLCanvasElement, entries: readonly Entry[], axis: TimeAxis, now: number): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const changes = new Float64Array(COLUMNS + 1);
  const failed = new Uint8Array(COLUMNS);
  const column = (time: number): number => Math.min(COLUMNS - 1, Math.floor(axis.at(time) * COLUMNS));
  for (const entry of entries) {
    if (entry.kind !== "call") continue;
    const [from, to] = [column(entry.at), column(entry.endedAt ?? now)];
    changes[from] = (changes[from] ?? 0) + 1;
    changes[to + 1] = (changes[to + 1] ?? 0) - 1;
    if (entry.result?.status === "error") failed[to] = 1;
  }
  const counts = new Float64Array(COLUMNS);
  let running = 0;
  let most = 1;
  for (let index = 0; index < COLUMNS; index++) {
    running += changes[index] ?? 0;
    counts[index] = running;
    most = Math.max(most, running);
  }
  const style = getComputedStyle(canvas);
  context.clearRect(0, 0, COLUMNS, canvas.height);
  for (const [index, value] of counts.entries()) {
    if (value === 0 && failed[index] === 0) continue;
    context.fillStyle = style.getPropertyValue(failed[index] === 1 ? "--bad" : "--map");
    const height = Math.max(3, (Math.sqrt(value) / Math.sqrt(most)) * canvas.height);
    context.fillRect(index, canvas.height - height, 1, height);
  }
}
