/** The hints of a tool, as badges. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { Badge } from "../show/basic-components.tsx";

export type Tool = AnswerOf<"getTool">;

const TONES = {
  pure: "good",
  reads: "good",
  writes: "warn",
  destructive: "bad",
  undeclared: "bad",
  composite: "plain",
} as const satisfies Record<Tool["effect"], string>;

/** The effects of its calls, in a word or two. */
export function Hints({ tool: { annotations, effect, mode } }: { readonly tool: Tool }): ReactNode {
  return (
    <span className="badges">
      <Badge tone={TONES[effect]}>{effect}</Badge>
      {annotations.openWorldHint && <Badge>external</Badge>}
      {mode !== "direct" && <Badge>{mode}</Badge>}
    </span>
  );
}
