/** The visible part of a timeline, moved and resized by keys. */
import type { Zoom } from "./row-props.ts";

export const FULL_ZOOM: Zoom = { start: 0, end: 1 };
/** The smallest part that can be shown. */
export const MIN_ZOOM_WIDTH = 0.004;
const STEP = 0.2;
const NARROW_FACTOR = 0.6;

/** Returns the part after a key: `a` and `d` move it, `w` and `s` make it narrower and wider. Undefined for other keys. */
export function zoomAfterKey(key: string, zoom: Zoom): Zoom | undefined {
  const width = zoom.end - zoom.start;
  if (key === "a") return moveZoom(zoom.start - width * STEP, width);
  if (key === "d") return moveZoom(zoom.start + width * STEP, width);
  if (key === "w") return resizeZoom(zoom, Math.max(MIN_ZOOM_WIDTH, width * NARROW_FACTOR));
  if (key === "s") return resizeZoom(zoom, Math.min(1, width / NARROW_FACTOR));
  return key === "0" ? FULL_ZOOM : undefined;
}

/** Like `zoomAfterKey`, for the brush itself, where arrow keys work too. */
export function zoomAfterBrushKey(key: string, zoom: Zoom): Zoom | undefined {
  const width = zoom.end - zoom.start;
  if (key === "Home") return moveZoom(0, width);
  if (key === "End") return moveZoom(1 - width, width);
  return zoomAfterKey({ ArrowLeft: "a", ArrowRight: "d", ArrowUp: "w", ArrowDown: "s", "+": "w", "-": "s" }[key] ?? key, zoom);
}

function resizeZoom({ start, end }: Zoom, width: number): Zoom {
  return moveZoom((start + end - width) / 2, width);
}

function moveZoom(start: number, width: number): Zoom {
  const from = Math.max(0, Math.min(1 - width, start));
  return { start: from, end: from + width };
}
