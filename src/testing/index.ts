// The package entry `daybook/testing`: scripted model, harness, builders, fake providers, cache simulator and conformance suites.

export type { Block, Draft } from '../core/block/block.ts'
export type { BlockOrigin } from '../core/block/round.ts'
export type { TokenCounter } from '../core/estimate/tokens.ts'
export type { Timeline } from '../core/timeline/timeline.ts'
export type { BlobStore } from '../ports/blobs.ts'
export type { Files } from '../ports/files.ts'
export type { Hosting } from '../ports/hosting.ts'
export type { Sandbox } from '../ports/sandbox.ts'
export { blocks } from './blocks.ts'
export { type Bill, idealBill, type LayeredCall, type ModelCall, uncachedBill } from './cache-bills.ts'
export { type CacheSimulator, type CacheSimulatorOptions, createCacheSimulator } from './cache-simulator.ts'
export { type BlobSuiteOptions, describeBlobs } from './conformance/blobs.ts'
export { describeFiles } from './conformance/files.ts'
export { describeHosting } from './conformance/hosting.ts'
export { describeRelay, type RelayFixture } from './conformance/relay.ts'
export { describeSandbox } from './conformance/sandbox.ts'
export type { CreateStore, StoreFixture } from './conformance/store/fixture.ts'
export { describeStore } from './conformance/store.ts'
export type { Expectation, TestRunner } from './conformance/test-runner.ts'
export type { CreateWorkspaceFixture, WorkspaceFixture } from './conformance/workspace/fixture.ts'
export { describeWorkspaces } from './conformance/workspace/workspace.ts'
export { type FakeEmbeddings, startFakeEmbeddings } from './fake-providers/fake-embeddings.ts'
export {
  type FakeProvider,
  type FakeProviderName,
  type FakeProviderOptions,
  type FakeScript,
  startFakeProvider,
} from './fake-providers/fake-provider.ts'
export type { FakeCall, FakeErrorKind, FakeFault, FakeFinish, FakeReply, FakeRequest, FakeUsage } from './fake-providers/provider-format.ts'
export { createFixedClock, type FixedClock } from './fixed-clock.ts'
export { createHarness, type Harness, type HarnessOptions, type RecordedTurn } from './harness.ts'
export { type HostilePlace, type HostileThing, plantHostileFiles } from './hostile-files.ts'
export {
  type Reply,
  reply,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptSettings,
  scriptedModel,
} from './scripted-model.ts'
export {
  type ScriptedIo,
  type ScriptedProgram,
  type ScriptedSandboxOptions,
  scriptedSandbox,
} from './scripted-sandbox.ts'
export { createSmallModel, type SmallModel, type SmallModelOptions, type SmallModelPlan } from './small-model.ts'
export { expectTimeline, type TimelineExpectation, timelineText } from './timeline-text.ts'
export type { StoreModulePlace } from './torture/place.ts'
export { zippedSandbox } from './zipped-sandbox/zipped-sandbox.ts'
