/** The hints of a tool, as badges. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { Badge } from "../show/parts.tsx";

export type Tool = AnswerOf<"getTool">;

/** The effects of its calls, in a word or two. */
export function Hints({ tool: { annotations, mode } }: { readonly tool: Tool }): ReactNode {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  return (
    <span className="badges">
      {readOnlyHint && <Badge tone="good">reads</Badge>}
      {!readOnlyHint && destructiveHint && <Badge tone="bad">destructive</Badge>}
      {!readOnlyHint && !destructiveHint && <Badge tone="warn">writes</Badge>}
      {openWorldHint && <Badge>external</Badge>}
      {mode !== "direct" && <Badge>{mode}</Badge>}
    </span>
  );
}
