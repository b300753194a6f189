/** The public names of `haft/delegate`, listed by hand: sub-agents and other loops as tools. @packageDocumentation */
export { type DelegatesToolsetOptions, delegateTool, delegatesToolset } from "../compose/delegate/delegate.ts";
export type { DelegateLoopOptions, DelegateOptions } from "../compose/delegate/delegate-options.ts";
export type { SharedContext } from "../compose/delegate/shared-context.ts";
export { type SessionWithinOptions, sessionWithin } from "../runtime/session-within.ts";
