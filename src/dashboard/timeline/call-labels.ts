/** Words and marks for the origins of results and the states of calls, so that nothing depends on colour alone. */
import type { Tone } from "../show/basic-components.tsx";
import type { CallEntry, Origin } from "./call-entry.ts";
import { callState } from "./call-entry.ts";

export const ORIGIN_LABELS: Readonly<Record<Origin, { readonly mark: string; readonly text: string }>> = {
  live: { mark: "●", text: "live: the tool itself" },
  cache: { mark: "◆", text: "cache: an earlier result" },
  replay: { mark: "▲", text: "replay: a recording" },
  simulated: { mark: "◇", text: "simulated: nothing happened" },
  stub: { mark: "□", text: "stub: a fixed answer" },
};

/** Returns the state of a call in one or two words. */
export function describeCallState(entry: CallEntry): { readonly tone: Tone; readonly text: string } {
  const { result } = entry;
  if (result === undefined) {
    const words = { begun: "in progress", approval: "needs approval", running: "running", backoff: "waits to retry", ended: "" };
    const state = callState(entry);
    return { tone: state === "approval" ? "warn" : "busy", text: words[state] };
  }
  if (entry.undone !== undefined) return { tone: "plain", text: entry.undone };
  if (result.status === "error") return { tone: "bad", text: result.error?.code.replaceAll("_", " ") ?? "error" };
  if (result.status === "ok") return { tone: "good", text: "ok" };
  return { tone: result.status === "partial" ? "warn" : "plain", text: result.status };
}
