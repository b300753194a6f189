/** The public names of `haft/chain`, listed by hand: tools that are called one after the other, as one. @packageDocumentation */
export { type Chain, type ChainToolOptions, type ChainTools, type RunChainOptions, createChain } from "../compose/chain/chain.ts";
export type { ChainSource, ChainStep } from "../compose/chain/chain-step.ts";
export type { ChainCheck, ChainProblem } from "../compose/chain/check-chain.ts";
export type { ChainResult } from "../compose/chain/run-steps.ts";
