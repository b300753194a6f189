/** What a tool says of itself, in a word or two. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { Badge } from "../show/parts.tsx";

export type Tool = AnswerOf<"getTool">;

/** What a call of it does to the world, in a word or two. */
export function Hints({ tool: { annotations, mode } }: { readonly tool: Tool }): ReactNode {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  return (
    <span className="badges">
      {readOnlyHint === true && <Badge tone="good">reads</Badge>}
      {readOnlyHint !== true && destructiveHint === true && <Badge tone="bad">destructive</Badge>}
      {readOnlyHint !== true && destructiveHint !== true && <Badge tone="warn">writes</Badge>}
      {openWorldHint === true && <Badge>external</Badge>}
      {mode !== "direct" && <Badge>{mode}</Badge>}
    </span>
  );
}
