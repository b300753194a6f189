/** The whole session in one line. Drag to show a part, use keys to move and resize it, double-click to show everything. */
import { maxOf, minOf } from "../../core/collections/push-all.ts";
import { useEffect, useRef, useState, type PointerEvent, type ReactNode } from "react";
import { MIN_ZOOM_WIDTH, FULL_ZOOM, zoomAfterBrushKey } from "./zoom-keys.ts";
import { computeMapColumns } from "./map-columns.ts";
import type { SessionLog } from "./session-log.ts";
import type { TimeAxis } from "./time-axis.ts";
import type { Zoom } from "./row-props.ts";

interface MinimapProps {
  readonly log: SessionLog;
  readonly axis: TimeAxis;
  readonly version: number;
  readonly zoom: Zoom;
  readonly onZoom: (zoom: Zoom) => void;
}

const COLUMNS = 400;

export function Minimap({ log, axis, version, zoom, onZoom }: MinimapProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<readonly [number, number]>();
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, log, axis);
  }, [log, axis, version]);
  const placeOf = ({ clientX, currentTarget }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / width));
  };
  const [start, end] = drag === undefined ? [zoom.start, zoom.end] : [minOf(drag), maxOf(drag)];
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
          if (end - start > MIN_ZOOM_WIDTH) onZoom({ start, end });
          setDrag(undefined);
        }}
        onDoubleClick={() => onZoom(FULL_ZOOM)}
      >
        <canvas ref={canvas} width={COLUMNS} height={28} />
        {(start > 0 || end < 1) && <span className="brush" style={{ left: `${start * 100}%`, width: `${(end - start) * 100}%` }} />}
      </div>
      {(zoom.start > 0 || zoom.end < 1) && (
        <button type="button" className="button button-quiet minimap-whole" onClick={() => onZoom(FULL_ZOOM)}>
          Whole time
        </button>
      )}
    </div>
  );
}

function percent(share: number): number {
  return Math.round(share * 100);
}

/** Draws the columns; those with failures have another colour. */
function draw(canvas: HTMLCanvasElement, log: SessionLog, axis: TimeAxis): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { running, failed } = computeMapColumns(log, axis, COLUMNS);
  const most = Math.max(1, maxOf(running));
  const style = getComputedStyle(canvas);
  const [plain, bad] = [style.getPropertyValue("--map"), style.getPropertyValue("--bad")];
  context.clearRect(0, 0, COLUMNS, canvas.height);
  for (const [index, value] of running.entries()) {
    const isFailed = failed[index] === true;
    if (value === 0 && !isFailed) continue;
    context.fillStyle = isFailed ? bad : plain;
    const height = Math.max(3, (Math.sqrt(value) / Math.sqrt(most)) * canvas.height);
    context.fillRect(index, canvas.height - height, 1, height);
  }
}
