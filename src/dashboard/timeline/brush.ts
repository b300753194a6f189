/** The visible part of a timeline, moved and resized by keys. */
import type { Zoom } from "./row-props.ts";

export const WHOLE: Zoom = { start: 0, end: 1 };
/** The smallest part that can be shown. */
export const LEAST_PART = 0.004;
const STEP = 0.2;
const NARROWER = 0.6;

/** Returns the part after a key: `a` and `d` move it, `w` and `s` make it narrower and wider. Undefined for other keys. */
export function zoomAfterKey(key: string, zoom: Zoom): Zoom | undefined {
  const width = zoom.end - zoom.start;
  if (key === "a") return movedTo(zoom.start - width * STEP, width);
  if (key === "d") return movedTo(zoom.start + width * STEP, width);
  if (key === "w") return widened(zoom, Math.max(LEAST_PART, width * NARROWER));
  if (key === "s") return widened(zoom, Math.min(1, width / NARROWER));
  return key === "0" ? WHOLE : undefined;
}

/** Like `zoomAfterKey`, for the brush itself, where arrow keys work too. */
export function zoomAfterBrushKey(key: string, zoom: Zoom): Zoom | undefined {
  const width = zoom.end - zoom.start;
  if (key === "Home") return movedTo(0, width);
  if (key === "End") return movedTo(1 - width, width);
  return zoomAfterKey({ ArrowLeft: "a", ArrowRight: "d", ArrowUp: "w", ArrowDown: "s", "+": "w", "-": "s" }[key] ?? key, zoom);
}

function widened({ start, end }: Zoom, width: number): Zoom {
  return movedTo((start + end - width) / 2, width);
}

function movedTo(start: number, width: number): Zoom {
  const from = Math.max(0, Math.min(1 - width, start));
  return { start: from, end: from + width };
}
