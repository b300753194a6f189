/** The public names of `haft/testing`, listed by hand: what a test of tools and engines needs. */
export { FakeClock, type FakePorts, MemoryLog, countingIds, fakePorts, seededRandom, settle } from "./fake-ports.ts";
