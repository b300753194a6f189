/** The state of an agent as a coloured word. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { Badge, type Tone } from "../show/basic-components.tsx";
import { formatPlural } from "../show/format.ts";

export type Agent = AnswerOf<"getAgent">;

const TONES: Readonly<Record<Agent["state"], Tone>> = { running: "busy", waiting: "warn", idle: "good", stopped: "plain" };

export function AgentState({ agent: { state, waiting } }: { readonly agent: Agent }): ReactNode {
  return (
    <span className="badges">
      {waiting > 0 && <Badge tone="warn">{formatPlural(waiting, "approval")} open</Badge>}
      <Badge tone={TONES[state]}>{state}</Badge>
    </span>
  );
}

/** Whether the agent has a run, which can be cancelled. */
export function isBusy({ state }: Agent): boolean {
  return state === "running" || state === "waiting";
}
