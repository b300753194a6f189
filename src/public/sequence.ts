/** The public names of `haft/sequence`, listed by hand: sequences of calls whose inputs refer to earlier results. @packageDocumentation */
export {
  type CheckSequenceOptions,
  type SequenceCheck,
  type SequenceLayers,
  type SequenceRules,
  checkSequence,
} from "../compose/sequence/check-sequence.ts";
export { type RunSequenceOptions, type SequenceRun, runSequence } from "../compose/sequence/run-sequence.ts";
export { type SequenceCall, type SequenceProblem, type SequenceReason, SEQUENCE_REASONS } from "../compose/sequence/sequence-problem.ts";
export type { SequenceTool } from "../compose/sequence/sequence-tools.ts";
