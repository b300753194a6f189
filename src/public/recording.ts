/** The public names of `haft/recording`, listed by hand: recordings: read, written, imported and replayed. @packageDocumentation */
export type { RecordingHeader } from "../core/recording/format.ts";
export { type OpenRecording, type RecordingSource, parseRecording, readRecording, writeRecording } from "../core/recording/recording.ts";
export { type ReplayOptions, type ReplayToolsetOptions, replayEngine, toolsetsOfRecording } from "../engine/replay.ts";
export { type ImportedRecording, type ImportOptions, importRecording } from "../runtime/import-recording.ts";
