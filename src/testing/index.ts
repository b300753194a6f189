/** The public names of `haft/testing`, listed by hand: what a test of tools and engines needs. @packageDocumentation */
export { accessStoreContract } from "./access-store-contract.ts";
export { approvalStoreContract } from "./approval-store-contract.ts";
export { type ApprovalsCase, type ApprovalsMaker, approvalsContract } from "./approvals-contract.ts";
export { type ArtifactStoreCase, artifactStoreContract } from "./artifact-store-contract.ts";
export type { EngineCase, EngineSubject } from "./engine-case.ts";
export { engineContract } from "./engine-contract.ts";
export { FAULT_TYPES, type FaultPlan, type FaultRule, type FaultType } from "../core/answers/fault.ts";
export { FakeClock, type FakePorts, MemoryLog, countingIds, fakePorts, seededRandom, settle } from "./fake-ports.ts";
export { jobStoreContract } from "./job-store-contract.ts";
export { type LocksCase, type LocksSubject, locksContract } from "./locks-contract.ts";
export type { ModelCase, ModelSubject } from "./model-case.ts";
export { modelContract } from "./model-contract.ts";
export { type SlotsCase, type SlotsSubject, slotsContract } from "./slots-contract.ts";
export type { StoreCase, StoreSubject } from "./store-case.ts";
export { storeContract } from "./store-contract.ts";
export { type RecordedAnswer, type RecordedFixture, recordedAnswer, recordedToolsets } from "./recorded-toolset.ts";
export {
  type ReplyScript,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedReply,
  scriptedModel,
} from "../model/scripted-model.ts";
