/** A line of recent values, without axes. */
import type { ReactNode } from "react";

const WIDTH = 120;
const HEIGHT = 28;
const KEPT = 60;

export function Spark({ values }: { readonly values: readonly number[] }): ReactNode {
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => {
    const x = WIDTH - ((values.length - 1 - index) / (KEPT - 1)) * WIDTH;
    return `${x.toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 3)).toFixed(1)}`;
  });
  return (
    <svg className="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}
