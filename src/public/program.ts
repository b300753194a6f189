/** The public names of `haft/program`, listed by hand: programs that a model writes, whose calls are calls of the session. @packageDocumentation */
export type { ProgramMode } from "../registry/program-offer.ts";
export { type ProgramToolsetOptions, programToolset } from "../compose/program/program-toolset.ts";
export { programTools } from "../compose/program/program-tools.ts";
export { type KeptProgram, chainOfProgram } from "../compose/program/chain-of-program.ts";
export type { EnclosingCall } from "../core/store/approval-store.ts";
